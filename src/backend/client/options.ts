import { invalid } from '../../config/invalid.ts'

/** The options of `createBackendClient`. */
export interface BackendClientOptions {
  /** Sets the path of the backend's routes, as the option of `createBackend` does. Default: `/auth`. */
  readonly basePath?: string | undefined
}

/** The options of `signIn` of a backend client. */
export interface BackendSignInOptions {
  /** Sets the return URL, on this origin. Default: this page. */
  readonly returnTo?: string | undefined
}

/** Returns the one option, if it is an own member. Throws `config_invalid` for one of another name, unless it is undefined. */
export function ownOption<T extends object, K extends keyof T>(caller: string, options: T, name: K & string): T[K] {
  let own: unknown
  for (const [given, value] of Object.entries(options))
    if (given === name) own = value
    else if (value !== undefined) invalid(`${caller} takes { ${name} } alone`)
  return own as T[K]
}
