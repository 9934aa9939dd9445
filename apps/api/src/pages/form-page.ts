import type { Issue } from '@rapport/core/kernel/errors.ts'
import { type PublicFormRow, toPublicForm, computeFormVersion } from '@rapport/core/forms/forms.ts'
import { honeypotId, type PublicForm } from '@rapport/core/forms/forms.schema.ts'
import { colons } from '@rapport/core/kernel/values/languages.ts'
import type { Branding } from '@rapport/core/workspaces/branding.ts'
import type { FastifyReply } from 'fastify'
import { engine, sendDocument } from './document.ts'
import type { PageLanguage } from './page-language.ts'

const template = engine.parse(`
{%- if issues.length > 0 or notice %}
<div class="problems" role="alert" tabindex="-1" autofocus>
<p>{{ notice | default: texts.problems }}</p>
{%- if issues.length > 0 %}
<ul>
{%- for issue in issues %}
<li>{% if issue.anchor %}<a href="#{{ issue.anchor }}">{{ issue.label }}</a>{{ colon }} {% endif %}{{ issue.message }}</li>
{%- endfor %}
</ul>
{%- endif %}
</div>
{%- endif %}
<form method="post">
{%- for field in fields %}
{%- if field.isCheckbox %}
<div class="field tick">
<input type="checkbox" id="{{ field.anchor }}" name="{{ field.id }}" {{ field.flags | raw }}>
<label for="{{ field.anchor }}">{{ field.label }}{% if field.optional %} <span class="optional">{{ texts.optional }}</span>{% endif %}</label>
{%- else %}
<div class="field">
<label for="{{ field.anchor }}">{{ field.label }}{% if field.optional %} <span class="optional">{{ texts.optional }}</span>{% endif %}</label>
{%- if field.type == "TEXTAREA" %}
<textarea id="{{ field.anchor }}" name="{{ field.id }}" {{ field.flags | raw }}>
{{ field.value }}</textarea>
{%- elsif field.type == "SELECT" %}
<select id="{{ field.anchor }}" name="{{ field.id }}" {{ field.flags | raw }}>
<option value="">{{ texts.choose }}</option>
{%- for option in field.options %}
<option value="{{ option }}"{% if option == field.value %} selected{% endif %}>{{ option }}</option>
{%- endfor %}
</select>
{%- else %}
<input type="{{ field.inputType }}" id="{{ field.anchor }}" name="{{ field.id }}" value="{{ field.value }}" {{ field.flags | raw }}>
{%- endif %}
{%- endif %}
{%- if field.problem %}
<p class="problem" id="problem-{{ field.id }}">{{ field.problem }}</p>
{%- endif %}
</div>
{%- endfor %}
<div class="trap" aria-hidden="true">
<label for="{{ trap }}">{{ texts.honeypot }}</label>
<input id="{{ trap }}" name="{{ trap }}" tabindex="-1" autocomplete="off">
</div>
<input type="hidden" name="_version" value="{{ version }}">
<input type="hidden" name="_key" value="{{ key }}">
<button>{{ texts.send }}</button>
</form>`)

/** Why a form is shown again: fields are invalid, it has changed meanwhile, or it could not be submitted. */
export type FormProblem = 'invalid' | 'changed' | 'failed'

interface FormPage {
  language: PageLanguage
  form: PublicFormRow
  branding: Branding | undefined
  /** The idempotency key of the page: posting it twice makes one submission. */
  key: string
  /** The posted values and their errors. */
  filled?: { values: Record<string, string>; issues: readonly Issue[]; problem: FormProblem }
}

/** Sends a form as a page, with a label for each control and an error message below each invalid one. */
export function sendFormPage(reply: FastifyReply, { language, form, branding, key, filled }: FormPage): FastifyReply {
  const { values = {}, issues = [], problem = 'invalid' } = filled ?? {}
  const notice = problem === 'invalid' ? undefined : language.texts.form[problem]
  const texts = language.texts.form
  const textOf = ({ id, type }: ShownField) =>
    // A consent to the old wording does not count for the new one.
    Object.hasOwn(values, id) && !(problem === 'changed' && type === 'CONSENT') ? values[id] : undefined
  const fields = toPublicForm(form).fields.map((field) =>
    fieldView(field, textOf(field), findProblem(issues, field.id)),
  )
  const labeled = issues.map(({ path, message }) => {
    const field = fields.find(({ id }) => id === path)
    return { message, ...(field && { anchor: field.anchor, label: field.label }) }
  })
  const hasErrors = labeled.length > 0 || notice !== undefined
  const content = String(
    engine.renderSync(template, {
      texts,
      fields,
      issues: labeled,
      colon: colons[language.language],
      notice,
      trap: honeypotId,
      version: computeFormVersion(form),
      key,
    }),
  )
  return sendDocument(reply, {
    language,
    heading: form.name,
    title: hasErrors ? texts.titleWithProblems(form.name) : form.name,
    content,
    branding,
    frameAncestors: '*',
  })
}

type ShownField = PublicForm['fields'][number]

const findProblem = (issues: readonly Issue[], id: string) => issues.find(({ path }) => path === id)?.message

const inputTypes: Partial<Record<ShownField['type'], string>> = {
  EMAIL: 'email',
  PHONE: 'tel',
  NUMBER: 'number',
  DATE: 'date',
}

function fieldView(field: ShownField, value: string | undefined, problem: string | undefined) {
  const anchor = `f-${field.id}`
  const isCheckbox = field.type === 'CHECKBOX' || field.type === 'CONSENT'
  const flags = [
    field.required && 'required',
    isCheckbox && value !== undefined && 'checked',
    field.type === 'NUMBER' && 'step="any"',
    field.autocomplete && `autocomplete="${field.autocomplete}"`,
    problem && `aria-invalid="true" aria-describedby="problem-${field.id}"`,
  ]
  return {
    ...field,
    anchor,
    value,
    isCheckbox,
    problem,
    inputType: inputTypes[field.type] ?? 'text',
    optional: !field.required,
    flags: flags.filter(Boolean).join(' '),
  }
}
