/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import type { HtmlEscapedString } from 'hono/utils/html'
import { endpointIds, permissionNames } from '../../access-change.ts'
import type { Client, Person } from '../../service.ts'

interface DevControlsProps {
  people: readonly Person[]
  clients: readonly Client[]
  effects: readonly string[]
  token: string
}

/** Shows a form and a button for each function of `DevControls`. */
export function Controls({
  token,
  people,
  clients,
  effects,
}: DevControlsProps): HtmlEscapedString | Promise<HtmlEscapedString> {
  const emails = people.map(({ email }) => email)
  return (
    <div class="controls">
      <Group title="Clock">
        <Control token={token} buttons={{ advance: 'Advance' }}>
          <Field id="minutes" label="Minutes" name="minutes" type="number" min={0} value="10" required />
        </Control>
        <Control token={token} buttons={{ freeze: 'Freeze', unfreeze: 'Let it run' }} />
      </Group>
      <Group title="Sign-in">
        <Control token={token} buttons={{ 'auto-approve': 'Auto-approve' }}>
          <Choice id="automatic" label="Person" name="email" options={['', ...emails]} />
        </Control>
      </Group>
      <Group title="Tokens">
        <Control token={token} buttons={{ 'session-token': 'Mint session token' }}>
          <Choice id="minted" label="Person" name="email" options={emails} />
        </Control>
        <Control token={token} buttons={{ expire: 'Expire access tokens', revoke: 'Revoke refresh tokens' }} />
      </Group>
      <AccessControls token={token} people={people} clients={clients} emails={emails} />
      <Group title="Faults">
        <Control token={token} buttons={{ 'add-fault': 'Add the fault' }}>
          <Choice id="effect" label="Effect" name="effect" options={effects} />
          <Field id="path" label="Path, empty for all" name="path" value="/auth/v1/token" />
          <Field id="times" label="Times" name="times" type="number" min={1} value="1" required />
        </Control>
        <Control token={token} buttons={{ 'clear-faults': 'Clear all faults' }} />
      </Group>
      <Group title="Everything">
        <p class="soft">
          Restores the initial data of the same accounts and clients and removes all faults. The clock does not change.
        </p>
        <Control token={token} buttons={{ reset: 'Reset to the seed' }} />
      </Group>
    </div>
  )
}

interface AccessProps extends Pick<DevControlsProps, 'token' | 'people' | 'clients'> {
  emails: readonly string[]
}

/** The group of `setAccess`: what the API refuses with 403. */
function AccessControls({ token, people, clients, emails }: AccessProps) {
  return (
    <Group title="Access">
      <Control token={token} buttons={{ 'billing-inactive': 'Stop billing', 'billing-active': 'Billing is active' }}>
        <Choice id="billing" label="Tenant" name="name" options={[...new Set(people.map(({ tenant }) => tenant))]} />
      </Control>
      <Control token={token} buttons={{ 'endpoint-billed': 'Needs billing', 'endpoint-unbilled': 'Needs none' }}>
        <Choice id="billed" label="Endpoint" name="name" options={endpointIds} />
      </Control>
      <Control
        token={token}
        buttons={{
          'client-unapproved': 'Withdraw approval',
          'client-approved': 'Approve',
          'client-no-api': 'Take the api surface',
          'client-api': 'Give it',
        }}
      >
        <Choice id="approved" label="Client" name="name" options={clients.map(({ name }) => name)} />
      </Control>
      <Control token={token} buttons={{ permissions: 'Set permissions' }}>
        <Choice id="permitted" label="Person" name="name" options={emails} />
        <Field id="permissions" label="Permissions" name="permissions" value={permissionNames.join(' ')} />
      </Control>
    </Group>
  )
}

function Group({ title, children }: { title: string; children: Child }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

/** One form. Each button sends its action. */
function Control({ token, buttons, children }: { token: string; buttons: Record<string, string>; children?: Child }) {
  return (
    <form method="post" action="/_dev/do">
      <input type="hidden" name="token" value={token} />
      {children}
      {Object.entries(buttons).map(([action, text]) => (
        <button class="plain" type="submit" name="action" value={action}>
          {text}
        </button>
      ))}
    </form>
  )
}

interface FieldProps {
  id: string
  label: string
  name: string
  value: string
  type?: 'number' | 'text'
  min?: number
  required?: boolean
}

function Field({ id, label, ...input }: FieldProps) {
  return (
    <div>
      <label for={id}>{label}</label>
      <input id={id} autocomplete="off" {...input} />
    </div>
  )
}

interface ChoiceProps {
  id: string
  label: string
  name: string
  options: readonly string[]
  /** The option that is chosen. Default: the first. */
  chosen?: string
  /** Returns what the list shows for an option. Default: the option, or `off` for an empty one. */
  textOf?: (option: string) => string
}

/** One list to choose from. */
export function Choice({
  id,
  label,
  name,
  options,
  chosen,
  textOf = (option) => option || 'off',
}: ChoiceProps): HtmlEscapedString | Promise<HtmlEscapedString> {
  return (
    <div>
      <label for={id}>{label}</label>
      <select id={id} name={name} autocomplete="off">
        {options.map((option) => (
          <option value={option} selected={option === chosen}>
            {textOf(option)}
          </option>
        ))}
      </select>
    </div>
  )
}
