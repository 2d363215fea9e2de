/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import type { HtmlEscapedString } from 'hono/utils/html'
import { credentialLimits } from '../../limits.ts'

type Html = HtmlEscapedString | Promise<HtmlEscapedString>

interface SignInFormProps {
  action: string
  problem: string | undefined
  /** The email address that the user entered before. */
  email: string | undefined
  /** Hidden fields. */
  children: Child
}

export function SignInForm({ action, problem, email, children }: SignInFormProps): Html {
  return (
    <form method="post" action={action}>
      {problem === undefined ? null : (
        <p role="alert" id="problem">
          {problem}
        </p>
      )}
      {children}
      <label for="email">Email address</label>
      <input
        id="email"
        name="email"
        type="email"
        value={email}
        autocomplete="username"
        required
        autofocus={email === undefined}
        aria-describedby={problem === undefined ? undefined : 'problem'}
      />
      <PasswordField focused={email !== undefined} />
      <button type="submit">Sign in</button>
    </form>
  )
}

interface PasswordFieldProps {
  label?: string
  username?: string
  focused?: boolean
}

/** `username` helps a password manager if the form asks for the password alone. */
export function PasswordField({ label = 'Password', username, focused = false }: PasswordFieldProps): Html {
  return (
    <>
      {username === undefined ? null : <input value={username} autocomplete="username" readonly hidden />}
      <label for="password">{label}</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        maxlength={credentialLimits.passwordCharacters}
        required
        autofocus={focused}
      />
    </>
  )
}
