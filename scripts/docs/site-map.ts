/** A page of the site: a file of the repository, and its URL without a suffix. */
export interface SitePage {
  /** The path from the root of the repository. */
  readonly file: string
  /** The path from the root of the site, without a suffix. A folder's page ends with `index`. */
  readonly url: string
}

export interface SiteSection {
  readonly title: string
  readonly pages: readonly SitePage[]
}

/** Pages outside of `docs/`, whose URL does not follow from their path. */
const urls: Readonly<Record<string, string>> = {
  'docs/README.md': 'index',
  'service/README.md': 'agent-service/index',
  'service/ASSUMPTIONS.md': 'agent-service/assumptions',
  'CHANGELOG.md': 'project/changelog',
  'CONTRIBUTING.md': 'project/contributing',
  'SECURITY.md': 'project/security-policy',
  'CODE_OF_CONDUCT.md': 'project/code-of-conduct',
  'test/README.md': 'project/tests',
}

/** The sections of the site in the order of its navigation. Each page is in one section. */
export const siteSections: readonly SiteSection[] = [
  section('Get started', [
    'docs/README.md',
    'docs/start/try.md',
    'docs/start/spa.md',
    'docs/react.md',
    'docs/frameworks.md',
    'docs/start/backend.md',
    'docs/start/next.md',
    'docs/start/cli.md',
  ]),
  section('Guides', [
    'docs/browser.md',
    'docs/callback.md',
    'docs/backend.md',
    'docs/command-line.md',
    'docs/sessions.md',
    'docs/storage.md',
    'docs/bearer.md',
    'docs/api-client.md',
    'docs/testing.md',
    'docs/moving.md',
  ]),
  section('Operations', ['docs/operations/deploy.md', 'docs/operations/troubleshooting.md']),
  section('Reference', ['docs/configuration.md', 'docs/errors.md', 'docs/security.md']),
  section('agent-service', ['service/README.md', 'service/ASSUMPTIONS.md']),
  section('Project', [
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'test/README.md',
    'docs/architecture.md',
    'docs/decisions/README.md',
    'docs/benchmarks.md',
    'SECURITY.md',
    'CODE_OF_CONDUCT.md',
  ]),
]

function section(title: string, files: readonly string[]): SiteSection {
  return { title, pages: files.map((file) => ({ file, url: urlOf(file) })) }
}

/** Returns the URL of a page, without a suffix. */
export function urlOf(file: string): string {
  return (
    urls[file] ??
    file
      .replace(/^docs\//, '')
      .replace(/\.md$/, '')
      .replace(/(^|\/)README$/, '$1index')
  )
}
