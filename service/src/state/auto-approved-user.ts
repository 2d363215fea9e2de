/** The user who signs in and approves without pages, for tests without a browser. Only the dev controls set it. */
export interface AutoApproval {
  email(): string | undefined
  set(email: string | undefined): void
}

export function createAutoApproval(): AutoApproval {
  let current: string | undefined
  return {
    email: () => current,
    set(email) {
      current = email
    },
  }
}
