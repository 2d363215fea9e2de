import { expect, test } from 'vitest'
import { onFirstRequest } from '../../src/server/listener.ts'
import packaging from '../../tsup.config.ts'

const request = new Request('http://127.0.0.1/')

test('an app that could not be loaded is loaded again with the next request, and once', async () => {
  let loads = 0
  const app = onFirstRequest(async () => {
    loads += 1
    if (loads === 1) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
    return { fetch: () => new Response('here') }
  })
  await expect(app.fetch(request, {})).rejects.toMatchObject({ code: 'EMFILE' })
  const answers = await Promise.all([app.fetch(request, {}), app.fetch(request, {})])
  expect({ text: await answers[0].text(), loads }).toEqual({ text: 'here', loads: 2 })
})

// Node keeps a failed import of a file until the process ends, so no retry of ours could load the API then.
test('the package as built has the API in the file that is running, so that loading it opens no other', () => {
  expect(packaging).toMatchObject({ splitting: false })
})
