/**
 * <rapport-form form-id="frm_…">: shows a Rapport form on any page. It submits the values to the server that this
 * script was loaded from, and shows the result. It inherits font and colors from the page; `--rapport-accent` (default:
 * the accent color of the workspace) and `--rapport-problem` set two more colors. Its language is that of its attribute
 * `lang`, of the form, of the page around it or of the browser. Emits `rapport-form:submitted` with the submission's id.
 */
;(() => {
  // A page with several forms may load the script several times.
  if (customElements.get('rapport-form')) return
  const base = document.currentScript.src.replace(/\/embed\/form\.js.*$/, '')
  const inputTypes = { EMAIL: 'email', PHONE: 'tel', NUMBER: 'number', DATE: 'date', CHECKBOX: 'checkbox', CONSENT: 'checkbox' }
  const honeypotId = '_website'
  /** Cannot clash with a field: the id of a field starts with a letter. */
  const problemId = (fieldId) => `_problem-${fieldId}`
  const copyId = `Copy the id from GET ${base}/forms: <rapport-form form-id="frm_…">.`
  /** The texts by language. The server puts them in. */
  const translations = 'TEXTS'
  const warn = (text) => console.warn(`rapport-form: ${text}`)
  const style = `
    :host { display: block; overflow-wrap: anywhere }
    * { box-sizing: border-box; font: inherit; color: inherit }
    form { --accent: var(--rapport-accent, var(--workspace-accent, #2f5bea)) }
    .field { margin: 0 0 1.1em }
    label { display: block; margin: 0 0 .25em; font-weight: 600 }
    .tick { display: grid; grid-template-columns: auto 1fr; gap: .2em .6em; align-items: start }
    .tick label { font-weight: inherit; margin: 0 }
    .tick .problem { grid-column: 2 }
    small { font-size: inherit; font-weight: 400 }
    input, textarea, select { width: 100%; padding: .6em .75em; background: transparent; border: 1px solid; border-color: color-mix(in srgb, currentColor 60%, transparent); border-radius: .5em }
    input, select { min-height: 3em }
    option { color: CanvasText; background: Canvas }
    textarea { min-height: 7em; resize: vertical; vertical-align: top }
    input[type=checkbox] { width: 1.2em; height: 1.2em; min-height: 0; margin: .15em 0 0; accent-color: var(--accent) }
    button { width: 100%; padding: .7em 1.2em; border: 0; border-radius: .6em; font-weight: 600; color: #fff; background: var(--accent); cursor: pointer }
    button[aria-disabled] { opacity: .75; cursor: progress }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
    .problem { margin: .5em 0 0; font-weight: 600; padding-inline-start: .6em; border-inline-start: 4px solid var(--rapport-problem, #c62a2f) }
    [role=alert]:not(:empty) { margin: 0 0 1.1em; padding: .75em 1em; border: 2px solid var(--rapport-problem, #c62a2f); border-radius: .5em }
    [role=alert] :is(p, ul) { margin: 0; padding: 0; list-style: none }
    li { margin-top: .4em }
    [aria-invalid] { border: 2px solid var(--rapport-problem, #c62a2f) }
    .trap { position: absolute; left: -9999px }`

  /** Creates an element with attributes (except those that are false or undefined) and children. */
  function create(name, attributes = {}, ...children) {
    const element = document.createElement(name)
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== false) element.setAttribute(key, value === true ? '' : value)
    }
    element.append(...children)
    return element
  }

  function createControl(field, texts) {
    const common = {
      id: field.id,
      name: field.id,
      required: field.required,
      autocomplete: field.autocomplete,
      'aria-describedby': problemId(field.id),
    }
    if (field.type === 'TEXTAREA') return create('textarea', common)
    if (field.type !== 'SELECT') {
      const type = inputTypes[field.type] ?? 'text'
      return create('input', { ...common, type, step: field.type === 'NUMBER' && 'any' })
    }
    const choices = field.options.map((option) => create('option', { value: option }, option))
    return create('select', common, create('option', { value: '' }, texts.choose), ...choices)
  }

  function createField(field, texts) {
    const label = create('label', { for: field.id }, field.label)
    if (!field.required) label.append(create('small', {}, ` ${texts.optional}`))
    const control = createControl(field, texts)
    const problem = create('p', { class: 'problem', id: problemId(field.id), hidden: true })
    if (control.type === 'checkbox') return create('div', { class: 'field tick' }, control, label, problem)
    return create('div', { class: 'field' }, label, control, problem)
  }

  /** The first of the locales that has texts, such as `de-AT`, and these texts. Anything may be among the locales. */
  function chooseLanguage(locales) {
    for (const text of locales) {
      const [locale, language] = /^([a-z]{2})(?:[-_][a-z\d]+)*$/i.exec(text ?? '') ?? []
      const texts = language && translations[language.toLowerCase()]
      if (texts) return { locale: locale.replaceAll('_', '-'), texts }
    }
    return { texts: translations.en }
  }

  /** The value in the type that the API expects; undefined if the control is empty. */
  function valueOf(control) {
    if (control.type === 'checkbox') return control.checked
    if (control.value === '') return undefined
    return control.type === 'number' ? control.valueAsNumber : control.value
  }

  customElements.define(
    'rapport-form',
    class extends HTMLElement {
      static observedAttributes = ['form-id']

      /** The idempotency key: submitting twice makes one submission. */
      #key
      #root = this.attachShadow({ mode: 'open' })
      /** The texts of the form, and its locale if there is a reason for it. */
      #language = { texts: translations.en }

      constructor() {
        super()
        const sheet = new CSSStyleSheet()
        sheet.replaceSync(style)
        this.#root.adoptedStyleSheets = [sheet]
      }

      attributeChangedCallback() {
        void this.#load()
      }

      connectedCallback() {
        // Frameworks may set the attribute after they have added the element.
        setTimeout(() => {
          if (this.isConnected && !this.getAttribute('form-id')) warn(`the attribute form-id is missing. ${copyId}`)
        })
      }

      /** Renders the form. After a change of the form: with the values entered before (`kept`) and a `notice`. */
      async #load(kept = new Map(), notice = '') {
        const id = this.getAttribute('form-id')
        if (!id) return this.#root.replaceChildren()
        const response = await fetch(`${base}/public/forms/${encodeURIComponent(id)}`).catch(() => undefined)
        const form = response?.ok ? await response.json().catch(() => undefined) : undefined
        if (id !== this.getAttribute('form-id')) return
        if (!form && kept.size > 0) return this.#alert(this.#language.texts.failed)
        this.#language = chooseLanguage([this.lang, form?.locale, this.closest('[lang]')?.lang, ...navigator.languages])
        if (!form) return this.#fail(id, response?.status)
        this.#key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join('')
        this.#draw(form, response.headers.get('etag'))
        this.#restore(form, kept)
        if (notice) this.#alert(notice)
      }

      #fail(id, status) {
        if (status === 404) warn(`form ${id} was not found (404). ${copyId} A disabled form is not found either.`)
        else warn(`form ${id} could not be loaded from ${base} (${status ?? 'no response'}).`)
        this.#root.replaceChildren(create('p', {}, this.#language.texts.unavailable.title))
      }

      /** Restores all values except consents, which were given to the old wording. */
      #restore(form, kept) {
        for (const { id, type } of form.fields) {
          const [control, value] = [this.#root.getElementById(id), kept.get(id)]
          if (type === 'CHECKBOX') control.checked = value === true
          else if (type !== 'CONSENT' && value !== undefined) control.value = value
        }
      }

      #draw(form, version) {
        const { texts, locale } = this.#language
        const honeypot = create('input', { id: honeypotId, tabindex: '-1', autocomplete: 'off' })
        const element = create(
          'form',
          { 'aria-label': form.name, lang: locale },
          create('div', { role: 'alert', tabindex: '-1' }),
          ...form.fields.map((field) => createField(field, texts)),
          create('div', { class: 'trap', 'aria-hidden': 'true' }, create('label', { for: honeypotId }, texts.honeypot), honeypot),
          create('button', {}, texts.send),
        )
        element.addEventListener('submit', (event) => {
          event.preventDefault()
          void this.#submit(form, version, honeypot.value)
        })
        if (form.accentColor) element.style.setProperty('--workspace-accent', form.accentColor)
        this.#root.replaceChildren(element)
      }

      #controls() {
        return [...this.#root.querySelectorAll('[name]')]
      }

      /** Shows a text and a list of errors above the fields, and focuses them. */
      #alert(text, errors = []) {
        const alert = this.#root.querySelector('[role=alert]')
        alert.replaceChildren(create('p', {}, text), ...(errors.length > 0 ? [create('ul', {}, ...errors)] : []))
        alert.focus()
      }

      async #submit(form, version, honeypot) {
        const button = this.#root.querySelector('button')
        if (button.hasAttribute('aria-disabled')) return
        button.setAttribute('aria-disabled', 'true')
        const values = new Map(this.#controls().map((control) => [control.name, valueOf(control)]))
        if (honeypot) values.set(honeypotId, honeypot)
        const response = await this.#send(form, version, values)
        button.removeAttribute('aria-disabled')
        const body = await response?.json().catch(() => undefined)
        const { texts } = this.#language
        if (response?.status === 201 && body) return this.#succeed(form, body)
        if (response?.status === 412) return this.#load(values, texts.changed)
        this.#markControls(body?.issues ?? [])
        if (body?.issues) this.#alert(texts.problems, body.issues.map((issue) => this.#describe(form, issue)))
        else this.#alert(this.#describeFailure(response?.status))
      }

      #describeFailure(status) {
        const { texts } = this.#language
        if (status === 403 || status === 404) return texts.unavailable.title
        return status === 429 ? texts.tooManyAttempts : texts.failed
      }

      #send(form, version, values) {
        const headers = { 'content-type': 'application/json', 'idempotency-key': this.#key }
        if (version) headers['if-match'] = version.replace(/^W\//, '')
        const body = JSON.stringify({ values: Object.fromEntries(values) })
        const { locale } = this.#language
        const url = `${base}/public/forms/${form.id}/submit${locale ? `?lang=${locale}` : ''}`
        return fetch(url, { method: 'POST', headers, body }).catch(() => undefined)
      }

      /** Shows each error at its field. */
      #markControls(issues) {
        const messages = new Map(issues.map(({ path, message }) => [path, message]))
        for (const control of this.#controls()) {
          const problem = this.#root.getElementById(problemId(control.name))
          problem.textContent = messages.get(control.name) ?? ''
          problem.hidden = !messages.has(control.name)
          control.toggleAttribute('aria-invalid', messages.has(control.name))
          if (messages.has(control.name)) control.setAttribute('aria-invalid', 'true')
        }
      }

      /** An error with a link to its field. */
      #describe(form, { path, message }) {
        const field = form.fields.find(({ id }) => id === path)
        if (!field) return create('li', {}, message)
        const link = create('a', { href: `#${path}` }, field.label)
        link.addEventListener('click', (event) => {
          event.preventDefault()
          this.#root.getElementById(path).focus()
        })
        return create('li', {}, link, `${this.#language.texts.colon} ${message}`)
      }

      #succeed(form, { submissionId }) {
        const detail = { formId: form.id, submissionId }
        this.dispatchEvent(new CustomEvent('rapport-form:submitted', { detail, bubbles: true, composed: true }))
        if (form.redirectUrl) return location.assign(form.redirectUrl)
        const paragraphs = [form.successMessage, ...(form.asksByEmail ? [this.#language.texts.confirm] : [])]
        const thanks = create('div', { role: 'status', tabindex: '-1' }, ...paragraphs.map((text) => create('p', {}, text)))
        this.#root.replaceChildren(thanks)
        thanks.focus()
      }
    },
  )
})()
