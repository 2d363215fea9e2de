import { format, inspect } from 'node:util'

/** One way a value can come to be printed, and the text it gives. */
export interface Rendering {
  readonly form: string
  readonly text: string
}

/** Every way in which a value may reach a log: as text, JSON, inspected to any depth, cloned, and the same of its causes. */
export function renderings(value: unknown): Rendering[] {
  const result: Rendering[] = []
  const add = (form: string, render: () => unknown): void => {
    try {
      const text = render()
      if (typeof text === 'string') result.push({ form, text })
    } catch {
      // A value that can't be rendered in this form leaks nothing through it.
    }
  }
  add('String()', () => String(value))
  add('JSON.stringify', () => JSON.stringify(value))
  add('util.inspect', () => inspectAll(value))
  add('util.inspect without custom functions', () => inspectAll(value, 'plainly'))
  add('util.format', () => format('%O %o %s %j', value, value, value, value))
  add('structuredClone', () => inspectAll(structuredClone(value)))
  for (const [depth, link] of causes(value).entries()) {
    const at = 'cause '.repeat(depth)
    add(`${at}message`, () => link.message)
    add(`${at}stack`, () => link.stack)
    if (depth > 0) add(`${at}util.inspect`, () => inspectAll(link, 'plainly'))
  }
  return result
}

/** `plainly`: as if the value had no function that says how it is printed. */
function inspectAll(value: unknown, how?: 'plainly'): string {
  return inspect(value, {
    customInspect: how !== 'plainly',
    depth: Infinity,
    showHidden: true,
    getters: true,
    maxArrayLength: Infinity,
    maxStringLength: Infinity,
    breakLength: Infinity,
  })
}

/** The value itself when it is an error, its cause, the cause's cause … */
function causes(value: unknown): Error[] {
  const chain: Error[] = []
  for (let link = value; link instanceof Error && !chain.includes(link); link = link.cause) chain.push(link)
  return chain
}
