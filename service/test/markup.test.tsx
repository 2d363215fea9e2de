/** @jsxImportSource ../src/pages */
import { expect, test } from 'vitest'
import { Markup } from '../src/pages/markup.ts'

const hostile = `<script>"&'</script>`
const harmless = '&lt;script&gt;&quot;&amp;&#39;&lt;/script&gt;'

test('S-016 text and attributes of a page are escaped, wherever they stand', () => {
  const Named = ({ children }: { children: string }): Markup => <b>{[children]}</b>
  const page = (
    <p title={hostile}>
      {hostile}
      <Named>{hostile}</Named>
    </p>
  )
  expect(page.html).toBe(`<p title="${harmless}">${harmless}<b>${harmless}</b></p>`)
})

test('S-016 only what says it is markup stands as it is', () => {
  expect((<style>{new Markup('a > b {}')}</style>).html).toBe('<style>a > b {}</style>')
  // A foreign object with the same member is none.
  const forged = { html: hostile } as Markup
  expect((<p>{forged}</p>).html).toBe('<p></p>')
})

test('S-016 nothing shows for what is not there, and an empty attribute for what is true', () => {
  const fields = (
    <>
      <input name="a" required readonly={false} value={undefined} maxlength={3} />
      {null}
      {undefined}
      {false}
      {0}
    </>
  )
  expect(fields.html).toBe('<input name="a" required="" maxlength="3"/>0')
})
