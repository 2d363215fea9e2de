export const helpText = `Usage: agent-auth COMMAND [options]

Signs you in to the Agent Management Service and sends requests with your token.

  login                       signs in with the browser and keeps the session
  logout                      ends the session on this machine
  status, whoami              says who is signed in, until when, and where that is stored
  token                       prints a valid access token, and nothing else
  fetch METHOD PATH [BODY]    sends a request to the API; - as BODY reads it from stdin
  doctor                      checks the settings, the service and the storage

Options of every command:
  --profile NAME       sets which service and user (default: default)
  --json               prints JSON
  -h, --help           prints this text
  -v, --version        prints the version

Options of login and doctor. login remembers them for the profile:
  --auth-url URL       sets the authorization server (default: AGENT_AUTH_URL)
  --base-url URL       sets the API (default: AGENT_BASE_URL)
  --client-id ID       sets the id of the client (default: AGENT_PUBLIC_CLIENT_ID)
  --client-secret-file FILE
                       sets the file with the secret of a confidential client (default: none, or
                       AGENT_CLIENT_SECRET for the client AGENT_CLIENT_ID)
  --redirect-uri URI   sets the registered redirect URI (default: http://127.0.0.1/callback)
  --scope SCOPE        sets the scope (default: api.access)
  --ports LIST         sets the ports to listen on, separated by commas (default: any free one);
                       doctor checks the redirect URI with each

Options of login:
  --timeout SECONDS    sets how long the login may take (default: 300)
  --no-browser         prints the URL and reads the URL of the last page from stdin

Options of logout:
  --at-service         also ends the browser's sign-in at the service

Options of doctor:
  --origin ORIGIN      checks CORS for an app of this origin (default: none)

The session is in $AGENT_AUTH_HOME, or agent-auth in $XDG_CONFIG_HOME, %APPDATA% or ~/.config.

Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 sign-in required, 4 try again later,
128 + N ended by signal N (130 for Ctrl-C).
`
