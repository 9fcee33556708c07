// The page's script and style sheet, bundled by scripts/buildPage.mjs.
declare module "#page" {
  export const script: string;
  export const style: string;
}
