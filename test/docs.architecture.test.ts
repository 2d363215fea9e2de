import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../', import.meta.url))
const page = readFileSync(`${root}docs/architecture.md`, 'utf8')
const [, section = ''] = page.split(/^## Where is it decided\?$/m)
const rows = [...section.matchAll(/^\| (?!Question)(.+?) \| (.+) \|$/gm)].map(([, question = '', answer = '']) => {
  const files = [...answer.matchAll(/\[([^\]]+)\]\(\.\.\/([^)]+)\)/g)]
  return { question, answer, files: files.map(([, label = '', file = '']) => ({ label, file })) }
})

describe('the table of where it is decided', () => {
  test('answers each question once, and by at least one file', () => {
    expect(rows.length).toBeGreaterThan(60)
    const questions = rows.map(({ question }) => question)
    expect(questions.filter((question, at) => questions.indexOf(question) !== at)).toEqual([])
    expect(rows.filter(({ files }) => files.length === 0)).toEqual([])
  })

  test('names files by the end of the path that its link leads to, and they exist', () => {
    const files = rows.flatMap((row) => row.files)
    expect(files.filter(({ label, file }) => !`/${file}`.endsWith(`/${label}`))).toEqual([])
    expect(files.filter(({ file }) => !existsSync(`${root}${file}`))).toEqual([])
  })

  test('names what stands in its file', () => {
    const named = rows.flatMap(({ answer }) => [
      ...answer.matchAll(/`([\w.]+)`(?:, )? in \[[^\]]+\]\(\.\.\/([^)]+)\)/g),
    ])
    expect(named.length).toBeGreaterThan(20)
    const missing = named.filter(([, name = '', file]) => !readFileSync(`${root}${file}`, 'utf8').includes(name))
    expect(missing.map(([, name, file]) => `${name} in ${file}`)).toEqual([])
  })
})
