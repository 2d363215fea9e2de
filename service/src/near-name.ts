/**
 * Returns the name that was probably meant. Case, hyphens and underscores do not count; at most three letters are added,
 * removed, replaced or swapped with the next, and at most half of them.
 */
export function nearName(name: string, names: readonly string[]): string | undefined {
  const asked = lettersOf(name)
  const most = Math.min(3, Math.floor(asked.length / 2))
  return [0, 1, 2, 3]
    .filter((edits) => edits <= most)
    .map((edits) => names.find((one) => isNear(asked, lettersOf(one), edits)))
    .find((one) => one !== undefined)
}

/** Returns the near name, or those that share a word with it: `port` may be each of two ports. */
export function meantNames(name: string, names: readonly string[]): readonly string[] {
  const near = nearName(name, names)
  const words = wordsOf(name)
  const sharing = names.filter((one) => wordsOf(one).some((word) => words.includes(word)))
  const isNear = near !== undefined && (sharing.length === 0 || sharing.includes(near))
  return isNear ? [near] : sharing
}

function wordsOf(name: string): readonly string[] {
  return name
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_]/)
}

/** Returns that a name is unknown, and the one that was probably meant or all that are known. */
export function unknownNameText(name: string, known: readonly string[]): string {
  const meant = nearName(name, known)
  // Other text may be a value in the wrong place.
  const shown = /^\w{1,24}$/.test(name) ? name : 'a member'
  return `${shown} is unknown; ${meant === undefined ? `use ${known.join(', ')}` : `did you mean ${meant}?`}`
}

/** Returns the first names for a message, which has at most 160 characters. */
export function listOfNames(names: readonly string[]): string {
  return names.slice(0, 4).join(', ') + (names.length > 4 ? ', …' : '')
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '')
}

/** Returns whether at most so many letters have to be added, removed or replaced to make one text of the other. */
function isNear(one: string, other: string, edits: number): boolean {
  if (one === other) return true
  if (edits === 0) return false
  let same = 0
  while (same < one.length && one[same] === other[same]) same += 1
  const [left, right] = [one.slice(same), other.slice(same)]
  const isSwapped = left[0] === right[1] && left[1] === right[0]
  return [
    ...(isSwapped ? [[left.slice(2), right.slice(2)]] : []),
    [left.slice(1), right],
    [left, right.slice(1)],
    [left.slice(1), right.slice(1)],
  ].some(([ofOne = '', ofOther = '']) => isNear(ofOne, ofOther, edits - 1))
}
