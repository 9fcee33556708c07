/** Finds texts by their words. */
export type WordIndex = {
  /** The indices of the texts that contain this word. */
  findWord(word: string): Iterable<number>;
  /** The indices of the texts with a word that contains this piece. */
  findPiece(piece: string): Iterable<number>;
};

/** Indexes texts, each given as its words. */
export function buildWordIndex(texts: readonly Iterable<string>[]): WordIndex {
  const holders = new Map<string, number[]>();
  for (const [at, words] of texts.entries()) {
    for (const word of new Set(words)) {
      const known = holders.get(word);
      if (known) known.push(at);
      else holders.set(word, [at]);
    }
  }
  return {
    findWord: (word) => holders.get(word) ?? [],
    findPiece: (piece) => {
      const found = new Set<number>();
      for (const [word, at] of holders) if (word.includes(piece)) for (const one of at) found.add(one);
      return found;
    },
  };
}
