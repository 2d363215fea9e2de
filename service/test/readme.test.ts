import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { clientsPath } from '../src/clients/clients-app.ts'
import { createServiceConfig } from '../src/config.ts'

const service = fileURLToPath(new URL('../', import.meta.url))
const readme = readFileSync(`${service}README.md`, 'utf8')

test('every picture and page that the README shows is there, each in light and dark, with words for it', () => {
  const pictures = [
    ...readme.matchAll(/srcset="([^"]+)-dark\.png"><img src="([^"]+)-light\.png"[^>]* alt="([^"]{10,})"/g),
  ]
  expect(pictures.map(([, dark, light]) => [dark, light])).toEqual(
    ['sign-in', 'consent', 'clients', 'dev', 'login'].map((name) => Array(2).fill(`../docs/screenshots/${name}`)),
  )
  for (const [, dark, light] of pictures)
    for (const file of [`${dark}-dark.png`, `${light}-light.png`]) {
      expect(existsSync(service + file), file).toBe(true)
    }
  const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, path = '']) => path)
  expect(links.filter((path) => !existsSync(service + path))).toEqual([])
})

test('the options table names every option of the configuration, and the endpoints are those served', () => {
  const options = Object.keys(createServiceConfig({}))
  expect(options.length).toBeGreaterThan(8)
  expect(options.filter((name) => !readme.includes(`\`${name}\``))).toEqual([])
  for (const path of [clientsPath, '/auth/v1/authorize', '/auth/v1/token', '/_dev']) expect(readme).toContain(path)
})
