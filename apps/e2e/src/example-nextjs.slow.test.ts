/** The example `examples/nextjs-newsletter`, built and started as its README says. */
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { checkAppearance, findBrowserSkipReason, launchBrowser } from '@rapport/testing/browser/browser.ts'
import { startCommand, type StartedProcess } from '@rapport/testing/processes/processes.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Stack, startStack } from './stack.ts'
import { readFocusedId, watchPage } from './test-site.ts'

/** A build takes 12 seconds on an idle machine with two cores, and far longer beside other tests. */
const buildTimeoutMs = 180_000
const folder = resolve(import.meta.dirname, '../../../examples/nextjs-newsletter')

describe.skipIf(findBrowserSkipReason())('the Next.js example', () => {
  let stack: Stack
  let key: string
  let browser: Browser
  let app: StartedProcess
  let url: string
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres'), launchBrowser()])
    ;({ key } = await stack.api.createWorkspace())
    url = `http://localhost:${await findFreePort()}`
    app = await startExample({ readyUrl: url, timeoutMs: buildTimeoutMs })
  }, 2 * buildTimeoutMs)
  afterAll(async () => {
    app.kill()
    await Promise.all([app.exited, browser.close()])
    await stack.close()
  })

  const startExample = (readiness: object) =>
    startCommand({
      command: 'sh',
      // What the command of the README does, but npx would ask the registry for the newest pnpm.
      parameters: ['-c', `cd '${folder}' && exec node --run start`],
      env: { PORT: new URL(url).port, RAPPORT_API_URL: stack.api.url, RAPPORT_API_KEY: key },
      isGroup: true,
      ...readiness,
    })

  test('the README has the command that starts the example', () => {
    const { name } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { name: string }
    expect(readFileSync(`${folder}/README.md`, 'utf8')).toContain(`\nnpx --yes pnpm --filter ${name} start\n`)
  })

  test('a second start on the same port exits before it builds', async () => {
    const second = await startExample({})
    expect(await second.exited).toMatchObject({ code: 1 })
    expect(second.stderr()).toContain('The variable PORT sets another port.')
    expect(second.stdout()).not.toContain('Next.js')
  })

  test('no file for browsers has the API key or the code of the server', () => {
    const files = globSync(`${folder}/.next/static/**/*.{js,css}`).map((path) => readFileSync(path, 'utf8'))
    expect(files.length).toBeGreaterThan(3)
    expect(files.filter((text) => text.includes(key) || text.includes('RAPPORT_API'))).toEqual([])
  })

  test('the first sign-ups create one list, even if they are concurrent', async () => {
    const emails = ['alan@example.com', 'annie@example.com']
    const pages = await Promise.all(emails.map(() => browser.newPage()))
    await Promise.all(pages.map((page) => page.goto(url)))
    await Promise.all(pages.map((page, index) => page.getByLabel('Email address').fill(emails[index] ?? '')))
    await Promise.all(pages.map(submit))
    await Promise.all(pages.map((page, index) => expectAccepted(page, emails[index] ?? '')))
    expect((await readLists()).map(({ name }) => name)).toEqual(['Heartwood'])
  })

  test('a visitor corrects the address, signs up and confirms by the link in the email', async () => {
    const page = await browser.newPage()
    const watched = watchPage(page)
    await page.goto(url)
    await expectAddressRejected(page)
    expect(await readFocusedId(page)).toBe('email')
    expect(await checkAppearance(page, 'nextjs example, error')).toEqual([])

    await page.getByLabel('Email address').fill('ada@example.com')
    await submit(page)
    await expectAccepted(page, 'ada@example.com')
    expect(await page.locator(':focus').getByRole('heading').textContent()).toBe('Check your inbox')
    expect(await checkAppearance(page, 'nextjs example, accepted')).toEqual([])
    expect(watched).toEqual({ origins: new Set([url]), errors: [] })

    await confirm(page, 'ada@example.com')
    const [contact] = await readContacts('ada@example.com')
    expect(contact).toMatchObject({ firstName: 'Ada', emailSubscribedStatus: 'SUBSCRIBED' })
  })

  test('the form works without JavaScript', async () => {
    const page = await browser.newPage({ javaScriptEnabled: false })
    await page.goto(url)
    await expectAddressRejected(page)
    await page.getByLabel('Email address').fill('grace@example.com')
    await submit(page)
    await expectAccepted(page, 'grace@example.com')
    await confirm(page, 'grace@example.com')
  })

  test('a known address gets the same response, and a filled honeypot sends no request', async () => {
    const page = await browser.newPage()
    for (const isBot of [false, true]) {
      await page.goto(url)
      const email = isBot ? 'bot@example.com' : 'ada@example.com'
      await page.getByLabel('Email address').fill(email)
      if (isBot) await page.locator('[name=website]').fill('https://spam.example')
      await submit(page)
      await expectAccepted(page, email)
    }
    expect(await readContacts('bot@example.com')).toEqual([])
  })

  test('after the list was deleted, the second sign-up creates another one', async () => {
    const page = await browser.newPage()
    const [deleted] = await readLists()
    await stack.api.call('DELETE', `/lists/${deleted?.id}`, { key })
    await page.goto(url)
    await page.getByLabel('Email address').fill('joan@example.com')
    await submit(page)
    await page.getByRole('alert').getByText('a problem on our side').waitFor()
    await submit(page)
    await expectAccepted(page, 'joan@example.com')
    expect((await readLists()).map(({ name }) => name)).toEqual(['Heartwood'])
  })

  test('if the API refuses or does not respond, the page says so and keeps the values', async () => {
    const page = await browser.newPage()
    await page.goto(url)
    await page.getByLabel('First name').fill('Mary')
    await page.getByLabel('Email address').fill('mary@example.com')
    const useUpLimit = Array.from({ length: 20 }, () =>
      fetch(`${stack.api.url}/public/lists/x/subscribe`, { method: 'POST' }),
    )
    for (const response of await Promise.all(useUpLimit)) await response.arrayBuffer()
    await submit(page)
    await page.getByRole('alert').getByText('Please try again in a minute.').waitFor()

    stack.apis[0]?.kill()
    await stack.apis[0]?.exited
    await submit(page)
    await page.getByRole('alert').getByText('a problem on our side').waitFor()
    expect(await page.getByLabel('First name').inputValue()).toBe('Mary')
    expect(app.stderr()).toContain('ConnectionError')
  })

  const submit = (page: Page) => page.getByRole('button', { name: 'Send me the letter' }).click()

  async function expectAddressRejected(page: Page) {
    await page.getByLabel('First name').fill('Ada')
    await page.getByLabel('Email address').fill('ada@localhost')
    await submit(page)
    const message = 'This must be an email address such as ada@example.com.'
    await page.getByText(message).waitFor()
    const field = page.getByRole('textbox', { name: 'Email address', description: message })
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    expect(await field.inputValue()).toBe('ada@localhost')
    expect(await page.getByLabel('First name').inputValue()).toBe('Ada')
    expect(await page.locator('[aria-invalid]').count()).toBe(1)
  }

  async function expectAccepted(page: Page, email: string) {
    await page.getByRole('heading', { name: 'Check your inbox' }).waitFor()
    await page.getByText(`We sent a link to ${email}.`).waitFor()
  }

  async function confirm(page: Page, email: string) {
    const { text } = await stack.inbox.waitFor(({ to }) => to.includes(email))
    await page.goto(/http\S+/.exec(text)?.[0] ?? '')
    await page.getByRole('button', { name: 'Confirm subscription' }).click()
    await page.getByRole('heading', { name: 'You are subscribed' }).waitFor()
  }

  async function readLists() {
    return (await stack.api.call<{ data: { id: string; name: string }[] }>('GET', '/lists', { key })).body.data
  }

  async function readContacts(email: string) {
    const found = await stack.api.call<{ data: object[] }>('GET', `/contacts?email=${email}`, { key })
    return found.body.data
  }
})
