import { errorCodes } from '@rapport/core/kernel/errors.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { lexer, walkTokens } from 'marked'
import { expect, test } from 'vitest'
import { expectError, startTestApi } from '../../test/testing.ts'
import { guides } from './guides.ts'

const api = useForFile(() => startTestApi())
const pagePath = (slug: string) => (slug === 'index' ? '/docs/' : `/docs/${slug}`)

async function read(path: string): Promise<string> {
  const response = await api.call('GET', path)
  expect([path, response.status]).toEqual([path, 200])
  return response.text
}

/** The cells of the first table below a heading of a guide, without its header. */
async function readTable(guide: string, heading: string): Promise<string[][]> {
  const markdown = await read(`/docs/${guide}.md`)
  const rows = markdown
    .slice(markdown.indexOf(`## ${heading}`))
    .split('\n')
    .filter((line) => line.startsWith('|'))
  return rows.map((row) => row.split('|').map((cell) => cell.trim().replaceAll('`', '')))
}

test('/docs leads to the first guide, with any query parameters, also below a path', async () => {
  expect(await api.call('GET', '/docs')).toMatchObject({ status: 301, headers: { location: 'docs/' } })
  const campaign = '?utm_source=mail&utm_source=x&%5B'
  expect(await api.call('GET', `/docs${campaign}`)).toMatchObject({ headers: { location: `docs/${campaign}` } })
  expect(await read(`/docs/${campaign}`)).toContain('<h1 id="rapport-api">Rapport API</h1>')
  expect((await api.call('GET', '/docs//example.com')).status).toBe(404)
  expectError(await api.call('GET', '/docs/nothing'), 404, 'Route not found')
})

test.each(guides.map(({ slug }) => slug))('the guide "%s" is a page and Markdown', async (slug) => {
  const page = await api.call('GET', pagePath(slug))
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
  expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'self'; /)
  expect(page.text).toMatch(/^<!doctype html>\n<html lang="en">/)
  expect(page.text).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">')
  expect(page.text).toMatch(/<title>[^<]+Rapport API<\/title>|<title>Rapport API<\/title>/)
  expect(page.text).toContain(`<link rel="alternate" type="text/markdown" href="${slug}.md">`)
  expect(page.text.match(/<h1 /g)).toHaveLength(1)
  // A phone shows the text before the list of guides.
  expect(page.text.indexOf('<h1 ')).toBeLessThan(page.text.indexOf('<nav class="guides"'))
  expect(page.text).not.toContain('<!-- ')
  const markdown = await api.call('GET', `/docs/${slug}.md`)
  expect(markdown).toMatchObject({ status: 200, headers: { 'content-type': 'text/markdown; charset=utf-8' } })
  expect(markdown.text).toMatch(/^# \S[^]+\n```(sh|ts|liquid)\n/)
  expect(markdown.text).not.toContain('<!-- ')
})

test('the first page shows the URL of this installation', async () => {
  expect(await read('/docs/')).toContain('>API=https://crm.example.com\n</code>')
})

test('the first page lists every other guide, in the same order', async () => {
  const cells = (await readTable('index', 'Guides')).map(([, guide = '']) => guide)
  const listed = cells.flatMap((cell) => /\(([\w-]+)\.md\)/.exec(cell)?.[1] ?? [])
  expect(['index', ...listed]).toEqual(guides.map(({ slug }) => slug))
})

test('every link of the guides leads to a page and heading that exist', async () => {
  const pages = new Map<string, string>()
  const broken: string[] = []
  for (const { slug } of guides) {
    const page = await read(pagePath(slug))
    for (const [, href = ''] of page.matchAll(/href="([^"]+)"/g)) {
      const { host, pathname, hash } = new URL(href, `http://api${pagePath(slug)}`)
      if (host !== 'api') continue
      if (!pages.has(pathname)) pages.set(pathname, await read(pathname))
      if (hash && !pages.get(pathname)?.includes(`id="${hash.slice(1)}"`)) broken.push(`${slug}: ${href}`)
    }
  }
  expect(broken).toEqual([])
  expect(pages.size).toBeGreaterThan(2 * guides.length)
})

test('guides link only to guides and websites, as other files are not served', () => {
  const links: string[] = []
  for (const { markdown } of guides) {
    void walkTokens(lexer(markdown), (token) => void (token.type === 'link' && links.push(String(token['href']))))
  }
  expect(links.length).toBeGreaterThan(guides.length)
  expect(links.filter((href) => !/^(https:|#|[\w-]+\.md)/.test(href))).toEqual([])
})

test('the table of roles has every operation with its `x-required-role`', async () => {
  const { body } = await api.call<{ paths: Record<string, Record<string, { 'x-required-role'?: string }>> }>(
    'GET',
    '/openapi.json',
  )
  const expected = Object.entries(body.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]) => `${method.toUpperCase()} ${path}: ${operation['x-required-role'] ?? '–'}`,
    ),
  )
  const table = await readTable('authentication', 'Roles')
  const listed = table.filter(([, name = '']) => /^[A-Z]+ \//.test(name))
  expect(listed.map(([, name, , role]) => `${name}: ${role}`).toSorted()).toEqual(expected.toSorted())
})

test('the table of limits has exactly the operations with another limit', async () => {
  const limits = (await readTable('limits', 'Request limits')).filter(([, name = '']) => /^[A-Z]+ \//.test(name))
  expect(limits.map(([, name, limit]) => `${name}: ${limit}`)).toEqual(
    expect.arrayContaining(['POST /auth/login: 10', 'POST /auth/forgot-password: 5', 'GET /health: none']),
  )
  for (const [, name = '', limit = ''] of limits) {
    const [method = '', path = ''] = name.split(' ')
    const { headers } = await api.call(method, path.replace('{id}', 'x'))
    expect([name, headers['x-ratelimit-limit'] ?? 'none']).toEqual([name, limit])
  }
})

test('the guide on errors has every code with its status', async () => {
  const rows = await readTable('errors', 'Codes')
  const codes = rows.filter((cells) => cells.length === 6).map(([, code = '']) => code)
  expect(codes.filter((code) => /^[a-z_]+$/.test(code))).toEqual([...errorCodes])
})

test('`docUrl` of an error leads to the row of its code, and each code has one', async () => {
  const { body } = await api.call<{ docUrl: string }>('GET', '/contacts')
  expect(body.docUrl).toBe('https://crm.example.com/docs/errors#unauthorized')
  const page = await read(new URL(body.docUrl).pathname)
  const anchors = errorCodes.map((code) => page.match(new RegExp(` id="${code}"`, 'g')))
  expect(anchors.filter((found) => found?.length !== 1)).toEqual([])
})

test('the reference loads no external resources and no inline script', async () => {
  const page = await api.call('GET', '/docs/reference')
  expect(page.text).toContain('<html lang="en">')
  expect(page.text).toContain('<title>API reference · Rapport</title>')
  expect(page.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'; ")
  const sources = [...page.text.matchAll(/(?:src|href|data-url)="([^"]*)"/g)].map(([, source = '']) => source)
  expect(sources.filter((source) => /^(\w+:)?\/\//.test(source))).toEqual([])
  expect(page.text.match(/<script[^>]*>/g)).toEqual([
    expect.stringMatching(/^<script id="api-reference" data-url="\.\.\/openapi\.json" data-configuration="\{&#34;/),
    '<script src="scalar.js">',
  ])
  const script = await api.call('GET', '/docs/scalar.js', { headers: { 'accept-encoding': 'gzip, br' } })
  expect(script).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/javascript; charset=utf-8', 'content-encoding': 'br' },
  })
  expect(Number(script.headers['content-length'])).toBeLessThan(1_300_000)
})

test('/llms.txt has a summary and links to every guide, with URLs that exist', async () => {
  const text = await read('/llms.txt')
  expect(text).toMatch(/^# Rapport\n\n> Rapport is a headless CRM: .+\n\n/)
  const items = text.split('\n').filter((line) => line.startsWith('- '))
  // The form of a link that the format asks for.
  const links = items.map((item) => /^- \[[^\]]+\]\(https:\/\/crm\.example\.com(\/[^)]+)\): [^[]+$/.exec(item)?.[1])
  expect(links).toEqual([
    ...guides.map(({ slug }) => `/docs/${slug}.md`),
    '/openapi.json',
    '/docs/reference',
    '/llms-full.txt',
  ])
  for (const path of links) await read(path ?? '')
})

test('/llms-full.txt has all guides, with links that exist', async () => {
  const text = await read('/llms-full.txt')
  for (const { title } of guides) expect(text).toContain(`# ${title}\n\n`)
  expect(text).toContain('| `POST /contacts` |')
  expect(text).not.toContain('<!-- ')
  const hrefs: string[] = []
  void walkTokens(lexer(text), (token) => void (token.type === 'link' && hrefs.push(String(token['href']))))
  const paths = hrefs.map((href) => new URL(href)).filter(({ host }) => host === 'crm.example.com')
  expect(paths.length).toBeGreaterThan(guides.length)
  for (const path of new Set(paths.map(({ pathname }) => pathname))) await read(path)
})

test.each(['/llms.txt', '/llms-full.txt'])('%s is plain text that clients keep and revalidate', async (path) => {
  const { status, headers } = await api.call('GET', path)
  expect(headers).toMatchObject({ 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'public, no-cache' })
  const again = await api.call('GET', path, { headers: { 'if-none-match': String(headers['etag']) } })
  expect([status, again.status]).toEqual([200, 304])
})

test('the OpenAPI document is compressed and revalidated', async () => {
  const get = (headers: Record<string, string>) => api.app.inject({ url: '/openapi.json', headers })
  const { statusCode, headers } = await get({ 'accept-encoding': 'br' })
  expect([statusCode, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  expect(headers).toMatchObject({ 'content-encoding': 'br', 'cache-control': 'public, no-cache' })
  const again = await get({ 'accept-encoding': 'br', 'if-none-match': String(headers.etag) })
  expect([again.statusCode, again.body]).toEqual([304, ''])
})
