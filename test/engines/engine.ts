// What the specs drive, whichever engine it is. Only what travels as JSON goes into a page or comes out of it.

export interface Tab {
  /** Resolves when the document is loaded. */
  goto(url: string): Promise<void>
  reload(): Promise<void>
  back(): Promise<void>
  /** Runs a function in the page, alone: it sees its arguments and the page's globals. */
  evaluate<A extends unknown[], R>(run: (...args: A) => R | Promise<R>, ...args: A): Promise<R>
  /** As a person does it, so that the page may open a window. */
  click(selector: string): Promise<void>
  /** Types into an empty field. */
  fill(selector: string, text: string): Promise<void>
  close(): Promise<void>
}

/** Cookies, storage and tabs of their own. */
export interface Profile {
  newTab(): Promise<Tab>
  /** Every open tab and window, those that pages opened too. */
  tabs(): Promise<Tab[]>
  close(): Promise<void>
}

export interface Engine {
  /** Name and version. */
  readonly name: string
  /** One at a time. */
  newProfile(): Promise<Profile>
  close(): Promise<void>
}

/** The text of a function that takes JSON and resolves with JSON. */
export function overJson(run: (...args: never[]) => unknown): string {
  return `async (json) => JSON.stringify(await (${run})(...JSON.parse(json)))`
}

export function fromJson<R>(json: unknown): R {
  return (typeof json === 'string' ? JSON.parse(json) : undefined) as R
}
