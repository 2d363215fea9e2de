/** Returns a function that runs the action at its first call, and does nothing at later calls. */
export function once<Args extends unknown[]>(action: (...args: Args) => void): (...args: Args) => void {
  let state: 'waiting' | 'called' = 'waiting'
  return (...args) => {
    if (state === 'called') return
    state = 'called'
    action(...args)
  }
}
