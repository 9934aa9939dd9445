/** The headers that decide what a browser may do with a response. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { type ApiResponse, operationsOf, startTestApi } from './testing.ts'

const dashboardPassword = 'the password of the operators'
const api = useForFile(() => startTestApi({ environment: { DASHBOARD_PASSWORD: dashboardPassword } }))
const workspace = useForFile(() => api.signUp())

/** Requests a page as a browser does, with the password of the dashboard. */
const open = (path: string) =>
  api.call('GET', path, {
    headers: { accept: 'text/html', authorization: `Basic ${btoa(`admin:${dashboardPassword}`)}` },
  })

const parsePolicy = ({ headers }: ApiResponse) =>
  Object.fromEntries(
    (headers['content-security-policy'] ?? '').split('; ').map((directive) => {
      const [name = '', ...sources] = directive.split(' ')
      return [name, sources.join(' ')]
    }),
  )

const otherPaths = [
  ['/docs', '/docs/', '/docs/nope', '/f/nope', '/f/frm_01kag7m3v9e8fs2t4w6x8y0z1b', '/nope', '/%ff'],
  ['/queues', '/queues/queue/mail', '/queues/static/nope', '/queues/nope'],
].flat()

test('every HTML page has a policy that allows neither inline scripts nor other sites', async () => {
  const form = await api.create('/forms', workspace.key, {
    name: 'Contact us',
    fields: [{ id: 'email', label: 'Email', type: 'EMAIL', mapsTo: 'email', required: true }],
  })
  const operations = (await operationsOf(api)).filter(({ method }) => method === 'GET')
  const guides = [...(await open('/docs/')).text.matchAll(/href="([\w-]+)"/g)].map(([, slug]) => `/docs/${slug}`)
  const paths = [
    ...operations.map(({ template, path }) => (template === '/f/{id}' ? `/f/${String(form['id'])}` : path)),
    ...new Set(guides),
    ...otherPaths,
  ]
  const pages: string[] = []
  for (const path of paths) {
    const response = await open(path)
    expect(`${path} ${response.headers['x-content-type-options']}`).toBe(`${path} nosniff`)
    expect(`${path} ${response.headers['referrer-policy']}`).toBe(`${path} no-referrer`)
    const policy = parsePolicy(response)
    const isPage = response.headers['content-type']?.startsWith('text/html') === true
    // The pages of a hosted form are made for frames.
    const frames = isPage && path.startsWith('/f/') ? '*' : `'none'`
    expect({ path, ...policy }).toMatchObject({ path, 'default-src': `'none'`, 'frame-ancestors': frames })
    for (const name of ['base-uri', 'form-action']) expect([`'none'`, `'self'`]).toContain(policy[name])
    expect([undefined, `'self'`]).toContain(policy['script-src'])
    if (isPage) pages.push(path)
  }
  expect(guides.length).toBeGreaterThan(8)
  expect(pages).toEqual(
    expect.arrayContaining(['/', '/docs/', '/docs/reference', '/docs/errors', '/queues', '/verify-email']),
  )
  expect(pages).toEqual(expect.arrayContaining(['/public/unsubscribe', '/reset-password', '/f/nope']))
})

test('a response that is no page loads nothing and is in no frame', async () => {
  const nothing = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  for (const path of ['/docs', '/nope', '/contacts', '/health', '/openapi.json', '/docs/style.css', '/llms.txt']) {
    const { headers } = await api.call('GET', path, { key: workspace.key })
    expect([path, headers['content-security-policy']]).toEqual([path, nothing])
  }
})
