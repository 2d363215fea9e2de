import 'example-common/style.css'
import { errorText } from 'example-common/error-text.ts'
import { userName } from 'example-common/user-name.ts'
import { api, auth } from './auth.ts'
import { byId, row } from './elements.ts'
import { startSessionPanel } from './session-panel.ts'

const reasons = {
  signed_out: 'See you soon.',
  refused: 'Your session has ended. Please sign in again.',
  store_lost: 'You signed out in another tab, or the browser’s data was cleared.',
  expired: 'Your session has run out. Please sign in again.',
}

let tryAgain = (): void => {}

/** Runs what a person asked for, and shows the failure if it fails. */
async function attempt(work: () => Promise<unknown>): Promise<void> {
  byId('problem').hidden = true
  try {
    await work()
  } catch (error) {
    const { title, text, action } = errorText(error)
    byId('problem-title').textContent = title
    byId('problem-text').textContent = text
    byId('problem-again').hidden = action !== 'retry'
    byId('problem-sign-in').hidden = action !== 'sign-in'
    byId('problem').hidden = false
    tryAgain = () => void attempt(work)
  }
}

let searches = 0

async function showAgents(): Promise<void> {
  const search = ++searches
  const search_value = byId<HTMLInputElement>('search-value').value
  const sort = { column: 'agent_name', desc: false } as const
  const found = await api.parentAgents.search({ limit: 50, offset: 0, search_value, sort }).catch((error) => {
    if (search === searches) throw error
  })
  // Somebody has typed on, or signed out, while this answer was on its way.
  if (!found || search !== searches) return
  const { items, count } = found
  const lines = items.map((agent) =>
    row(agent.agent_name, agent.agent_key, agent.parent_agent_type_key, agent.active ? 'on' : 'off'),
  )
  byId('agents').replaceChildren(...lines)
  byId('count').textContent = count === 1 ? '1 agent' : `${count} agents`
}

async function create(form: HTMLFormElement): Promise<void> {
  const field = (name: string): string => String(new FormData(form).get(name))
  await api.parentAgents.create({
    agent_name: field('agent_name'),
    description: field('description'),
    parent_agent_type_key: field('parent_agent_type_key'),
    active: true,
  })
  form.reset()
  await showAgents()
}

let shown: string | undefined

function showState(): void {
  const { status, reason, sessionRef, claims } = auth.session.state
  for (const part of ['loading', 'signed-in', 'signed-out']) byId(part).hidden = part !== status
  byId('sign-out').hidden = status !== 'signed-in'
  byId('user').textContent = userName(claims)
  byId('reason').textContent = reason ? reasons[reason] : ''
  if (sessionRef === shown) return
  shown = sessionRef
  // What one person saw must not be shown to the next.
  searches++
  byId('agents').replaceChildren()
  byId('count').textContent = ''
  if (sessionRef) void attempt(showAgents)
}

function onSubmit(id: string, work: (form: HTMLFormElement) => Promise<void>): void {
  const form = byId<HTMLFormElement>(id)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void attempt(() => work(form))
  })
}

const signIn = (): void => void attempt(() => auth.signIn())
byId('sign-in').addEventListener('click', signIn)
byId('problem-sign-in').addEventListener('click', signIn)
byId('sign-in-popup').addEventListener('click', () => void attempt(() => auth.signIn({ mode: 'popup' })))
byId('sign-out').addEventListener('click', () => void attempt(() => auth.signOut()))
byId('problem-again').addEventListener('click', () => tryAgain())
onSubmit('search', showAgents)
onSubmit('create', create)
byId('search-value').addEventListener('input', () => void attempt(showAgents))

auth.session.subscribe(showState)
startSessionPanel(() => auth.session.state.expiresAtMs)
void attempt(() => auth.ready().finally(showState))
