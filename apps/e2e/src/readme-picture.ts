/**
 * Makes docs/rapport.png, the picture of the README, from a running installation: the hosted form, the mail inbox and
 * the queue dashboard beside each other. Run it with `pnpm readme:picture` after a change of these pages.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { findLocalInstance, type LocalInstance } from '@rapport/core/runtime/local-instance.ts'
import { findBrowser } from '@rapport/testing/browser/browser-binary.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { type Browser, chromium } from 'playwright-core'

const root = resolve(import.meta.dirname, '../../..')
const pictureFile = join(root, 'docs/rapport.png')
const viewport = { width: 760, height: 720 }
const people = [
  ['Ada', 'ada@example.com'],
  ['Alan', 'alan@example.com'],
  ['Grace', 'grace@example.com'],
  ['Katherine', 'katherine@example.com'],
] as const

const directory = await mkdtemp(join(tmpdir(), 'rapport-picture-'))
// Nothing else of the shell: its DATABASE_URL or SMTP_URL could name a real database or mail server.
const { PATH, HOME } = inheritedEnvironment()
const environment = { PATH, HOME, DATA_DIR: directory }
const start = spawn(process.execPath, [join(root, 'apps/local/src/main.ts')], { env: environment, stdio: 'inherit' })
const ended = new Promise((resolveEnd) => start.once('exit', resolveEnd))
try {
  const instance = await waitUntil(() => findLocalInstance(environment), {
    describe: 'Rapport runs',
    timeoutMs: 60_000,
  })
  const formUrl = await createContent(instance)
  const executablePath = await findBrowser()
  if (executablePath === undefined) throw new Error('Chromium or Chrome is not installed')
  const browser = await chromium.launch({ executablePath })
  await takePicture(browser, instance, formUrl)
  await browser.close()
} finally {
  start.kill('SIGTERM')
  await ended
  await rm(directory, { recursive: true })
}

/**
 * Creates a form, a list with confirmed subscribers and a campaign that is sent. Returns the address of the hosted
 * form.
 */
async function createContent(instance: LocalInstance): Promise<string> {
  const call = async <Body>(method: string, path: string, body?: object): Promise<Body> => {
    const response = await fetch(`${instance.apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${instance.apiKey}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Body
  }
  const list = await call<{ id: string }>('POST', '/lists', { name: 'Product news' })
  for (const [firstName, email] of people) {
    const contact = await call<{ id: string }>('POST', '/contacts', { firstName, email })
    await call('POST', `/lists/${list.id}/subscribers`, { contactId: contact.id, status: 'CONFIRMED' })
  }
  const campaign = await call<{ id: string }>('POST', '/campaigns', {
    name: 'November news',
    subject: 'What is new, {{ contact.firstName }}',
    html: '<h1>November news</h1><p>Hello {{ contact.firstName }},</p><p>deals now show their history, and imports list every rejected row.</p>',
    listId: list.id,
  })
  await call('POST', `/campaigns/${campaign.id}/send`)
  const isSent = async () =>
    (await call<{ sent: number }>('GET', `/campaigns/${campaign.id}/stats`)).sent === people.length
  await waitUntil(isSent, { describe: 'the campaign is sent', timeoutMs: 30_000 })
  const form = await call<{ id: string }>('POST', '/forms', {
    name: 'Contact us',
    fields: [
      { label: 'Your name', type: 'TEXT', mapsTo: 'firstName' },
      { label: 'Your email', type: 'EMAIL', required: true, mapsTo: 'email' },
      { label: 'What is it about?', type: 'SELECT', options: ['A question', 'An order', 'Something else'] },
      { label: 'Message', type: 'TEXTAREA', required: true },
      { label: 'Send me product news by email', type: 'CONSENT' },
    ],
  })
  return `${instance.apiUrl}/f/${form.id}`
}

async function takePicture(browser: Browser, instance: LocalInstance, formUrl: string): Promise<void> {
  const { dashboardPassword } = JSON.parse(await readFile(join(directory, 'local.json'), 'utf8')) as {
    dashboardPassword: string
  }
  const httpCredentials = { username: 'admin', password: dashboardPassword }
  const context = await browser.newContext({ viewport, deviceScaleFactor: 1.5, httpCredentials })
  const pages = [
    ['The hosted form', formUrl],
    ['The inbox of "pnpm start"', instance.inboxUrl ?? ''],
    ['The queue dashboard', `${instance.apiUrl}/queues`],
  ]
  const figures: string[] = []
  for (const [caption, url = ''] of pages) {
    const page = await context.newPage()
    await page.goto(url, { waitUntil: 'networkidle' })
    // In the inbox, the newest mail.
    if (url === instance.inboxUrl) await page.locator('nav a').first().click()
    await page.waitForLoadState('networkidle')
    const image = (await page.screenshot()).toString('base64')
    figures.push(`<figure><img src="data:image/png;base64,${image}"><figcaption>${caption}</figcaption></figure>`)
    await page.close()
  }
  const page = await browser.newPage({ viewport: { width: 1_560, height: 540 } })
  await page.setContent(`<style>
    body { margin: 0; padding: 24px; display: flex; gap: 24px; background: #eef1f5; font: 600 16px system-ui, sans-serif }
    figure { flex: 1; margin: 0 } img { width: 100%; border-radius: 8px; box-shadow: 0 4px 18px #0003 }
    figcaption { margin-top: 10px; text-align: center; color: #444c56 }
  </style>${figures.join('')}`)
  await page.screenshot({ path: pictureFile, fullPage: true })
}
