/** Members and items from the root to a value. */
export type Path = readonly PropertyKey[]

/** A seed as it was written. */
export interface ParsedText {
  value: unknown
  /** Returns line and column of a member or an item, or of the nearest one around it. */
  placeOf(path: Path): string
}

/** What the name of a seed file says that it holds: `.json` is JSON, and all else is YAML. */
export type SeedFormat = 'JSON' | 'YAML'
