// Models of answers: what trial t of a case brings in each arm. Both arms of a trial share its order, and so do other cases.
import { drawBeta, drawNormal, seededRandom } from "./product.mjs";

/** A number in [0, 1) for this case and order, the same in both arms and however often it is asked for. */
function hashed(seed, i, t) {
  let x = (seed ^ Math.imul(i + 1, 73856093) ^ Math.imul(t, 83492791)) >>> 0;
  for (let round = 0; round < 3; round++) x = Math.imul(x ^ (x >>> 16), 0x45d9f3b) >>> 0;
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}

const logistic = (x) => 1 / (1 + Math.exp(-x));
const logit = (p) => Math.log(p / (1 - p));
/** The rate moved by so much in logits; 0 and 1 stay what they are. */
const movedBy = (p, by) => (p <= 0 || p >= 1 ? p : logistic(logit(p) + by));
const seedOf = (random) => Math.floor(random.next() * 2 ** 32);
const answer = (isPass) => (isPass ? "pass" : "fail");

/** How often a key was asked for before. */
function counting() {
  const asked = new Map();
  return (key) => {
    const before = asked.get(key) ?? 0;
    asked.set(key, before + 1);
    return before;
  };
}

/** Every model: `(rateOf(i, arm), random) -> (id, arm, trial, order) -> observation`. */
export const models = {
  /** `half`: the share of the failures that select the right tool; of head's, if another. */
  independent:
    (half = 0, ofHead = half) =>
    (rateOf, random) =>
    (id, arm) => {
      if (random.next() < rateOf(+id, arm)) return "pass";
      return random.next() < (arm === "head" ? ofHead : half) ? "selected" : "fail";
    },

  /** The rates are those of selecting the right tool, which then passes with chance `pass`. */
  selecting: (pass) => (rateOf, random) => (id, arm) => {
    if (random.next() >= rateOf(+id, arm)) return "fail";
    return random.next() < pass ? "pass" : "selected";
  },

  /** A seed that is kept for three calls: the same number is drawn for three trials in a row. */
  "seed kept": () => (rateOf, random) => {
    const kept = new Map();
    const count = counting();
    return (id, arm) => {
      const key = `${arm} ${id} ${Math.floor(count(`${arm} ${id}`) / 3)}`;
      if (!kept.has(key)) kept.set(key, random.next());
      return answer(kept.get(key) < rateOf(+id, arm));
    };
  },

  /** What an order does to both arms, to all cases alike or to each (`isOwn`) in its own way. */
  "order effect":
    (size, isOwn = false) =>
    (rateOf, random) => {
      const seed = seedOf(random);
      return (id, arm, _, order) => {
        const p = rateOf(+id, arm);
        const sign = hashed(seed, isOwn ? +id : 0, order) < 0.5 ? -1 : 1;
        return answer(random.next() < p + sign * Math.min(size, p, 1 - p));
      };
    },

  /** What an order does to head alone, with mean 0 over the orders: `low` for a share of them, `high` for the others. */
  interaction: (share, low, high) => (rateOf, random) => {
    const seed = seedOf(random);
    return (id, arm, _, order) => {
      const p = rateOf(+id, arm);
      if (arm !== "head") return answer(random.next() < p);
      const scale = Math.min(1, p / -low, (1 - p) / high);
      return answer(random.next() < p + scale * (hashed(seed, 0, order) < share ? low : high));
    };
  },

  /** Head fails in a share of the orders. */
  "killing orders": (share) => (rateOf, random) => {
    const seed = seedOf(random);
    return (id, arm, _, order) =>
      answer(!(arm === "head" && hashed(seed, 0, order) < share) && random.next() < rateOf(+id, arm));
  },

  "every order its own": () => (rateOf, random) => {
    const seed = seedOf(random);
    return (id, arm, _, order) => {
      const by = 1.5 * drawNormal(seededRandom(Math.floor(hashed(seed, 0, order) * 2 ** 32)));
      return answer(random.next() < movedBy(rateOf(+id, arm), by));
    };
  },

  "drift in time": () => (rateOf, random) => {
    let walk = 0;
    return (id, arm) => {
      walk += 0.3 * random.next() - 0.15;
      return answer(random.next() < movedBy(rateOf(+id, arm), walk));
    };
  },

  /** One answer for each case, order and arm; head's is drawn anew with chance `anew`, else the same as base's. */
  deterministic:
    (anew = 0) =>
    (rateOf, random) => {
      const seed = seedOf(random);
      return (id, arm, _, order) => {
        const isAnew = arm === "head" && hashed(seed ^ 0x5bd1e995, +id, order + 1) < anew;
        return answer(hashed(isAnew ? seed ^ 0x1b873593 : seed, +id, order + 1) < rateOf(+id, arm));
      };
    },

  "cache, ids seen": (share) => (rateOf, random) => (id, arm) =>
    random.next() < share ? "copy" : answer(random.next() < rateOf(+id, arm)),

  "cache, ids hidden": (share) => (rateOf, random) => {
    const last = new Map();
    return (id, arm) => {
      const key = `${arm} ${id}`;
      if (!last.has(key) || random.next() >= share) last.set(key, answer(random.next() < rateOf(+id, arm)));
      return last.get(key);
    };
  },

  /**
   * `shares[arm][outcome]`: the chance that such an answer is missing. `again`: what asking again brings: "same" (the request
   * itself is the trouble) or "anew" (another draw, which may be missing too).
   */
  missing:
    (shares, again = "same") =>
    (rateOf, random) => {
      const fixed = new Map();
      return (id, arm, trial) => {
        const key = `${arm} ${id} ${trial}`;
        if (again === "same" && fixed.has(key)) return fixed.get(key);
        const drawn = answer(random.next() < rateOf(+id, arm));
        const observed = random.next() < (shares[arm]?.[drawn] ?? 0) ? "missing" : drawn;
        fixed.set(key, observed);
        return observed;
      };
    },

  /** Passing answers of head are errors with chance `share`, and the request is sent again until there is none. */
  resent: (share) => (rateOf, random) => (id, arm) => {
    for (let attempt = 1; ; attempt++) {
      const drawn = answer(random.next() < rateOf(+id, arm));
      const isError = arm === "head" && drawn === "pass" && random.next() < share;
      if (!isError) return [drawn, undefined, attempt > 1];
    }
  },

  /** Outages: runs of calls that are missing, `share` of all calls, 20 calls long on average. */
  outage: (share) => (rateOf, random) => {
    let isDown = false;
    return (id, arm) => {
      isDown = isDown ? random.next() > 1 / 20 : random.next() < share / (1 - share) / 20;
      return isDown ? "missing" : answer(random.next() < rateOf(+id, arm));
    };
  },

  /** A temperature of 0: one answer to each wording of a query, which an edit of the tools turns round with chance `share`. */
  flips:
    (share, wordings = 1) =>
    (rateOf, random) => {
      const before = new Map();
      const turned = new Map();
      return (id, arm, trial) => {
        const key = `${id} ${trial % wordings}`;
        if (!before.has(key)) before.set(key, random.next() < rateOf(+id, arm));
        if (!turned.has(key)) turned.set(key, random.next() < share);
        return answer(before.get(key) !== (arm === "head" && turned.get(key)));
      };
    },

  /** Each wording of a case draws a rate of its own with either list: a harmless edit that moves flaky cases. */
  perturbed:
    (correlation, wordings = 1) =>
    (rateOf, random) => {
      const own = new Map();
      return (id, arm, trial) => {
        const key = `${arm} ${id} ${trial % wordings}`;
        const p = rateOf(+id, arm);
        const weight = 1 / correlation - 1;
        if (!own.has(key)) own.set(key, p <= 0 || p >= 1 ? p : drawBeta(p * weight, (1 - p) * weight, random));
        return answer(random.next() < own.get(key));
      };
    },
};

/** What an order of the tools does to the chance of a pass: in all lists alike, or in each its own way. */
export const orderMoves = {
  alike: {
    name: "an order moves all lists by 40 points",
    move: (rate, seed, order) => moved(rate, 0.4, seed, 0, order),
  },
  own: {
    name: "an order moves each list by 20 points in its own way",
    move: (rate, seed, order, arm) =>
      moved(
        rate,
        0.2,
        seed,
        [...arm].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 0),
        order,
      ),
  },
};

const moved = (rate, size, seed, of, order) =>
  rate + (hashed(seed, of, order) < 0.5 ? -1 : 1) * Math.min(size, rate, 1 - rate);
