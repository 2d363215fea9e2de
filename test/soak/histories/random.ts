/** Numbers that follow from a seed, so that a seed repeats a run. */
export interface Random {
  /** Returns a number from 0 up to 1. */
  fraction(): number
  /** Returns a whole number from `least` to `most`. */
  between(least: number, most: number): number
  /** Returns one of the items. */
  one<Item>(items: readonly Item[]): Item
}

/** Creates a generator (a linear congruential one of 32 bits, with the constants of Numerical Recipes). */
export function randomFrom(seed: string): Random {
  let state = [...seed].reduce((hash, letter) => (Math.imul(hash, 31) + letter.charCodeAt(0)) >>> 0, 7)
  const fraction = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  // The first numbers of similar seeds are similar.
  for (let round = 0; round < 8; round++) fraction()
  const between = (least: number, most: number): number => least + Math.floor(fraction() * (most - least + 1))
  return {
    fraction,
    between,
    one(items) {
      const item = items[between(0, items.length - 1)]
      if (item === undefined) throw new Error('There is nothing to choose from.')
      return item
    },
  }
}
