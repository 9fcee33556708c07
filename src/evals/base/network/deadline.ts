/**
 * A signal that aborts when `signal` does, and after `ms` with a TimeoutError. It stands for `AbortSignal.timeout` inside of
 * `AbortSignal.any`, which Node may collect as garbage before its time: the wait has no end then
 * (https://github.com/nodejs/node/issues/57736).
 */
export function abortAfter(signal: AbortSignal, ms: number): AbortSignal {
  const late = new AbortController();
  setTimeout(() => late.abort(new DOMException(`no answer within ${ms / 1000} s`, "TimeoutError")), ms).unref();
  return AbortSignal.any([signal, late.signal]);
}
