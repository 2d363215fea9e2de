import { isAgentAuthError } from '../errors.ts'

/** What failed on the way to the service and back. The reason goes no further, because it may quote a secret or a body. */
export class TransportFailure {
  readonly reason: unknown

  constructor(reason: unknown) {
    this.reason = reason
  }
}

/** Runs one step of a request and rejects with `TransportFailure`, so that no other error is taken for a failure of it. */
export async function overNetwork<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (reason) {
    throw isAgentAuthError(reason) ? reason : new TransportFailure(reason)
  }
}
