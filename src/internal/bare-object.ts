/** Has no members, and no prototype with any. */
const bare = Object.freeze(Object.create(null))

/**
 * Returns an object that inherits no member, also none that another script has added to the prototype of all objects. V8 makes an object
 * whose prototype is null a hash table, which is slow.
 */
export function bareObject<T extends object>(): T {
  return Object.create(bare)
}
