import { launchBrowser, findBrowserSkipReason } from '@rapport/testing/browser/browser.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { consentWording, createForm, createList, fillIn, filledIn, type Form, readSubmissions } from './public-form.ts'
import { readFocusedId, type Site, startSite, watchPage } from './test-site.ts'
import { type Stack, startStack } from './stack.ts'

describe.skipIf(findBrowserSkipReason())('a form that is embedded in another website', () => {
  let stack: Stack
  let key: string
  let browser: Browser
  let page: Page
  let form: Form
  let site: Site
  const open: Site[] = []
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres', {}, { worker: 'none' }), launchBrowser()])
    ;({ key } = await stack.api.createWorkspace())
  })
  beforeEach(async () => {
    page = await browser.newPage()
    form = await createForm(stack.api, key, { listId: (await createList(stack.api, key)).id })
    site = await startSiteWith(embed(form))
    return () => page.close()
  })
  afterAll(async () => {
    await browser.close()
    await Promise.all(open.map((site) => site.close()))
    await stack.close()
  })

  const embed = ({ id }: { id: string }) =>
    `<script src="${stack.api.url}/embed/form.js"></script><rapport-form form-id="${id}"></rapport-form>`

  /** Starts a site with the strictest content security policy that allows an embedded form. */
  async function startSiteWith(body: string, style?: string) {
    const sources = `script-src ${stack.api.url}; connect-src ${stack.api.url}`
    const policy = `default-src 'none'; ${style === undefined ? sources : `${sources}; style-src 'unsafe-inline'`}`
    const started = await startSite({
      '/': { body, headers: { 'content-security-policy': policy }, ...(style && { style }) },
      '/thanks': { body: '<h1>Thanks from the site</h1>' },
    })
    open.push(started)
    return started
  }

  test('has a script of less than 16 KB, with its texts in six languages', async () => {
    const script = await stack.api.call<string>('GET', '/embed/form.js')
    expect(Buffer.byteLength(script.body)).toBeLessThan(16_000)
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  })

  test('can be filled in and sent with the keyboard, and requests only Rapport’s origin', async () => {
    const watched = watchPage(page)
    await page.goto(site.url)
    await page.getByLabel('Email').waitFor()
    const { keyboard } = page
    await tabTo('firstName')
    await keyboard.type('Ada')
    await tabTo('email')
    await keyboard.type('ada@example.com')
    await tabTo('topic')
    await keyboard.type('An')
    await tabTo('message')
    await keyboard.type('Hello')
    await tabTo('callback')
    await keyboard.press('Space')
    await tabTo('news')
    await keyboard.press('Space')
    await keyboard.press('Enter')
    await page.getByRole('status').getByText(form.successMessage).waitFor()

    const [submission] = await readSubmissions(stack.api, key, form)
    expect(submission?.values).toEqual({
      firstName: 'Ada',
      email: 'ada@example.com',
      topic: 'An order',
      message: 'Hello',
      callback: true,
      news: true,
    })
    expect(submission?.consents).toEqual([{ fieldId: 'news', wording: consentWording }])
    const contact = await stack.api.call('GET', `/contacts/${submission?.contactId}`, { key })
    expect(contact.body).toMatchObject({
      email: 'ada@example.com',
      firstName: 'Ada',
      source: `form:${form.name}`,
      emailSubscribedStatus: 'PENDING',
    })
    expect(watched.origins).toEqual(new Set([site.url, stack.api.url]))
    expect(watched.errors).toEqual([])
  })

  test('shows an error next to its field and in a summary, and keeps all other values', async () => {
    const watched = watchPage(page)
    await page.goto(site.url)
    await fillIn(page, { email: 'ada@localhost' })
    await page.getByRole('button', { name: 'Send' }).click()
    const message = 'Please enter an email address such as ada@example.com.'
    const problem = page.locator('p.problem').getByText(message)
    await problem.waitFor()
    const email = page.getByLabel('Email')
    // The summary has the focus, so that screen readers announce it first, and links to the field.
    const summary = page.getByRole('alert')
    expect(await summary.textContent()).toBe(`Please correct the following:Email: ${message}`)
    expect(await page.locator('rapport-form :focus').getAttribute('role')).toBe('alert')
    await summary.getByRole('link', { name: 'Email' }).click()
    expect(await email.getAttribute('aria-invalid')).toBe('true')
    expect(await email.getAttribute('aria-describedby')).toBe(await problem.getAttribute('id'))
    expect(await readFocusedId(page)).toBe('email')
    expect(await page.locator('[aria-invalid]').count()).toBe(1)

    await email.fill(filledIn.email)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText(form.successMessage).waitFor()
    expect(await page.getByRole('button').count()).toBe(0)
    const submissions = await readSubmissions(stack.api, key, form)
    expect(submissions.map(({ values }) => values)).toEqual([filledIn])
    expect(watched.errors).toEqual([])
  })

  test('is sent once on a double click', async () => {
    const posts: string[] = []
    page.on('request', (request) => void (request.method() === 'POST' && posts.push(request.url())))
    await page.goto(site.url)
    await fillIn(page)
    await page.getByRole('button', { name: 'Send' }).dblclick()
    await page.getByText(form.successMessage).waitFor()
    expect(posts).toHaveLength(1)
    expect(await readSubmissions(stack.api, key, form)).toHaveLength(1)
  })

  test('redirects to the URL of the form', async () => {
    const redirectUrl = `${site.url}/thanks`
    form = await createForm(stack.api, key, { redirectUrl })
    site = await startSiteWith(embed(form))
    await page.goto(site.url)
    await fillIn(page)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('heading', { name: 'Thanks from the site' }).waitFor()
    expect(page.url()).toBe(redirectUrl)
  })

  test('is isolated from the styles of the page, and the page from its styles', async () => {
    const content = '<p class="field">One</p><p class="problem">Two</p><label>Three</label><input><button>Four</button>'
    const pageStyles =
      'form, div, label, input, select, p, button { border: 9px solid lime !important; padding: 40px !important }'
    const [plain, styled] = [
      await startSiteWith(content + embed(form)),
      await startSiteWith(content + embed(form), pageStyles),
    ]
    const readStyles = (query: string) =>
      page.evaluate(`(() => [...${query}].map((element) => {
        const { display, padding, borderWidth, borderRadius, fontWeight, width, backgroundColor } = getComputedStyle(element)
        return [element.localName, display, padding, borderWidth, borderRadius, fontWeight, width, backgroundColor].join()
      }))()`)
    const inside = () => readStyles(`document.querySelector('rapport-form').shadowRoot.querySelectorAll('*')`)
    const outside = () => readStyles(`document.querySelectorAll('body > :not(rapport-form)')`)

    await page.goto((await startSiteWith(content)).url)
    const withoutForm = await outside()
    await page.goto(plain.url)
    await page.getByLabel('Email').waitFor()
    const withoutPageStyles = await inside()
    expect(await outside()).toEqual([...(withoutForm as string[]), expect.stringMatching(/^script,none/)])
    await page.goto(styled.url)
    await page.getByLabel('Email').waitFor()
    expect(await inside()).toEqual(withoutPageStyles)
  })

  test('can be embedded twice in one page', async () => {
    const other = await createForm(stack.api, key, { name: 'Another', successMessage: 'The other one.' })
    const watched = watchPage(page)
    await page.goto((await startSiteWith(embed(form) + embed(other))).url)
    const second = page.locator('rapport-form').nth(1)
    await second.getByLabel('Email').fill('grace@example.com')
    await second.getByLabel('Your message').fill('Hello')
    await second.getByRole('button', { name: 'Send' }).click()
    await second.getByText('The other one.').waitFor()
    expect(await page.locator('rapport-form').first().getByLabel('Email').inputValue()).toBe('')
    expect(await readSubmissions(stack.api, key, form)).toEqual([])
    expect(watched.errors).toEqual([])
  })

  test('shows a network error and keeps the values', async () => {
    await page.goto(site.url)
    await fillIn(page)
    await page.route('**/submit*', (route) => route.abort())
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('alert').getByText('The form could not be sent. Please try again.').waitFor()
    await page.unroute('**/submit*')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText(form.successMessage).waitFor()
    const submissions = await readSubmissions(stack.api, key, form)
    expect(submissions.map(({ values }) => values)).toEqual([filledIn])

    await stack.api.call('PATCH', `/forms/${form.id}`, { key, body: { enabled: false } })
    const warnings = readWarnings()
    await page.reload()
    await page.getByText('This form is not available').waitFor()
    expect(warnings).toEqual([expect.stringContaining('A disabled form is not found either.')])
  })

  const readWarnings = () => {
    const warnings: string[] = []
    page.on('console', (message) => void (message.type() === 'warning' && warnings.push(message.text())))
    return warnings
  }

  test('warns in the console about a wrong or missing form id, and what to do', async () => {
    const warnings = readWarnings()
    const copy = `Copy the id from GET ${stack.api.url}/forms: <rapport-form form-id="frm_…">.`
    await page.goto((await startSiteWith(embed({ id: 'frm_x' }))).url)
    await page.getByText('This form is not available').waitFor()
    expect(warnings.splice(0)).toEqual([
      expect.stringContaining(`rapport-form: form frm_x was not found (404). ${copy}`),
    ])

    for (const tag of ['<rapport-form>', '<rapport-form form-id="">']) {
      const script = `<script src="${stack.api.url}/embed/form.js"></script>`
      await page.goto((await startSiteWith(`${script}${tag}</rapport-form>`)).url)
      await waitUntil(() => warnings.length > 0, { describe: 'a warning' })
      expect(warnings.splice(0)).toEqual([`rapport-form: the attribute form-id is missing. ${copy}`])
      expect(await page.locator('rapport-form').innerText()).toBe('')
    }

    await page.route('**/public/forms/*', (route) => route.abort())
    await page.goto(site.url)
    await page.getByText('This form is not available').waitFor()
    const lost = `rapport-form: form ${form.id} could not be loaded from ${stack.api.url} (no response).`
    expect(warnings).toEqual([lost])
  })

  test('renders a form whose id is set after the element was added', async () => {
    const warnings = readWarnings()
    await page.goto((await startSiteWith(`<script src="${stack.api.url}/embed/form.js"></script>`)).url)
    await page.evaluate(`(() => {
      const element = document.createElement('rapport-form')
      document.body.append(element)
      element.setAttribute('form-id', '${form.id}')
    })()`)
    await page.getByLabel('Email').waitFor()
    expect(warnings).toEqual([])
  })

  test('keeps the values except the consent if the form was changed meanwhile', async () => {
    const fields = [
      { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
      // Every JavaScript object has a property of this name.
      { id: 'constructor', label: 'Constructor', type: 'TEXT' },
      { id: 'topic', label: 'Topic', type: 'SELECT', options: ['An order'] },
      { id: 'news', label: 'The newsletter', type: 'CONSENT' },
    ]
    form = await createForm(stack.api, key, { fields })
    await page.goto((await startSiteWith(embed(form))).url)
    await page.getByLabel('Email').fill(filledIn.email)
    await page.getByLabel('The newsletter').check()
    const change = { fields: fields.with(3, { id: 'news', label: 'The newsletter and offers', type: 'CONSENT' }) }
    await stack.api.call('PATCH', `/forms/${form.id}`, { key, body: change })
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('alert').getByText('This form has changed.').waitFor()
    expect(await readSubmissions(stack.api, key, form)).toEqual([])

    expect(await page.getByLabel('Email').inputValue()).toBe(filledIn.email)
    expect(await page.getByLabel('Constructor').inputValue()).toBe('')
    expect(await page.getByLabel('Topic').inputValue()).toBe('')
    expect(await page.getByLabel('The newsletter and offers').isChecked()).toBe(false)
    expect(await page.locator('rapport-form :focus').getAttribute('role')).toBe('alert')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText(form.successMessage).waitFor()
    const [submission] = await readSubmissions(stack.api, key, form)
    expect(submission?.values).toEqual({ email: filledIn.email, news: false })
  })

  /** Presses Tab until the control has the focus. Fails if Tab does not reach it. */
  async function tabTo(id: string) {
    for (let presses = 0; presses < 12; presses++) {
      if ((await readFocusedId(page)) === id) return
      await page.keyboard.press('Tab')
    }
    throw new Error(`Tab does not reach ${id}; the focus is on ${String(await readFocusedId(page))}`)
  }
})
