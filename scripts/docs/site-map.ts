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
    'docs/which.md',
    'docs/start/spa.md',
    'docs/start/react.md',
    'docs/start/backend.md',
    'docs/start/next.md',
    'docs/start/cli.md',
  ]),
  section('Guides', [
    'docs/browser.md',
    'docs/callback.md',
    'docs/popup.md',
    'docs/tabs.md',
    'docs/react.md',
    'docs/backend.md',
    'docs/frameworks.md',
    'docs/node.md',
    'docs/command-line.md',
    'docs/api-client.md',
    'docs/bearer.md',
    'docs/show-errors.md',
    'docs/storage.md',
    'docs/stages.md',
    'docs/dialect.md',
    'docs/testing.md',
  ]),
  section('Operations', [
    'docs/operations/deploy.md',
    'docs/redis.md',
    'docs/postgres.md',
    'docs/scale.md',
    'docs/operations/rotate-secrets.md',
    'docs/operations/troubleshooting.md',
    'docs/containers.md',
  ]),
  section('Move to agent-auth', [
    'docs/moving/auth0-spa.md',
    'docs/moving/oidc-client-ts.md',
    'docs/moving/supabase.md',
    'docs/moving/auth-js.md',
  ]),
  section('Concepts', ['docs/security.md', 'docs/sessions.md', 'docs/secrets-in-errors.md', 'docs/glossary.md']),
  section('Reference', ['docs/configuration.md', 'docs/errors.md', 'docs/api-responses.md']),
  section('agent-service', ['service/README.md', 'service/ASSUMPTIONS.md']),
  section('Project', [
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'test/README.md',
    'docs/architecture.md',
    'docs/decisions/README.md',
    'docs/specification.md',
    'docs/requirements.md',
    'docs/numbers.md',
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
