import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, onTestFinished } from "vitest";

const names = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/** Ends what hangs, however busy the machine is. */
const patienceMs = 600_000;

/** The browser of this machine: `CHROMIUM`, or the first on the path. */
function findBrowser(): string | undefined {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((file) => existsSync(file));
}

/**
 * To be called once in a test file or a `describe`: starts the browser for its tests, and returns it. Where there is none
 * they fail in CI, and are skipped elsewhere.
 */
export function needsBrowser(): () => Browser {
  let browser: Browser | undefined;
  const missing = "No Chromium was found. Install it (`apt-get install chromium`), or name it in CHROMIUM.";
  beforeAll(async () => {
    const executablePath = findBrowser();
    if (!executablePath && process.env.CI) throw new Error(missing);
    // Continuous integration runs as root, where the sandbox does not start.
    if (executablePath)
      browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: patienceMs });
  });
  beforeEach((context) => {
    if (!browser) context.skip(missing);
  });
  afterAll(() => browser?.close());
  return () => {
    if (!browser) throw new Error(missing);
    return browser;
  };
}

/** How many times slower than this machine the pages run: EVALS_BROWSER_SLOWDOWN=20 shows what a test does not wait for. */
const slowdown = Number(process.env.EVALS_BROWSER_SLOWDOWN ?? 1);

/**
 * A page that is closed after the test, and what went wrong on it: errors, refused resources, and requests to anything but
 * `origin`.
 */
export async function openPage(
  browser: () => Browser,
  url: string,
  { origin = "file://", ...options }: BrowserContextOptions & { origin?: string } = {},
): Promise<{ page: Page; faults: string[]; requests: string[] }> {
  const context = await browser().newContext({ viewport: { width: 1280, height: 900 }, ...options });
  onTestFinished(() => context.close());
  const faults: string[] = [];
  const requests: string[] = [];
  await context.route("**/*", async (route) => {
    const wanted = route.request().url();
    requests.push(wanted);
    if (wanted.startsWith(origin)) return await route.continue();
    faults.push(`a request to ${wanted}`);
    await route.abort();
  });
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  page.setDefaultTimeout(patienceMs);
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("dialog", async (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  await page.goto(url);
  return { page, faults, requests };
}
