/** The few functions of jstat that are used; the package ships no types. */
declare module "jstat" {
  type Density = { cdf(x: number, ...parameters: number[]): number };
  type Quantile = { inv(p: number, ...parameters: number[]): number };
  const jStat: { normal: Density & Quantile; beta: Quantile; studentt: Density };
  export = jStat;
}
