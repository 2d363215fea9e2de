/** The first part of a path of the test app chooses its storage. */
export const kinds = ['memory', 'session', 'local', 'indexed'] as const
export type Kind = (typeof kinds)[number]

export interface PageConfig {
  readonly authUrl: string
  readonly baseUrl: string
  readonly clientId: string
}
