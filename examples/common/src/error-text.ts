import { type AgentApiError, isAgentApiError } from 'agent-auth/api'
import { type UserText, type UserTextOverrides, userText } from 'agent-auth/texts'

/** What these apps say in their own words. */
const texts: UserTextOverrides = {
  flow_not_found: { title: 'This sign-in was not started in this tab' },
  login_denied: { title: 'You declined to sign in' },
  session_changed: { title: 'Another sign-in replaced this session' },
}

const unreached: UserTextOverrides = {
  request_failed: { title: 'No connection', text: 'The service could not be reached. You are still signed in.' },
}

/** Returns the title, text and action that the page shows for a failure. */
export function errorText(error: unknown): UserText {
  if (!isAgentApiError(error)) return userText(error, { ...texts, ...unreached })
  const isUnreached = error.code === 'request_failed' && error.status === undefined
  const own = userText(error, isUnreached ? unreached : texts)
  return { ...own, text: textOfApi(error) || own.text }
}

/** What the API says in its envelope, or of the first fault of a form. */
function textOfApi({ errorMessage, faults }: AgentApiError): string | undefined {
  return errorMessage || faults[0]?.msg
}
