import { colons } from '@rapport/core/kernel/values/languages.ts'
import type { ListPreference, Preferences } from '@rapport/core/operations/preferences/read-preferences.ts'
import type { FastifyReply } from 'fastify'
import { engine, sendDocument } from './document.ts'
import type { PageLanguage } from './page-language.ts'

/**
 * Every change is a POST: the name of its button says what changes. The checkboxes have a form of their own, because the
 * Enter key in one presses the first button of its form.
 */
const template = engine.parse(`<p>{{ text }}</p>
{%- if notice %}
<div class="notice" role="status" tabindex="-1" autofocus><p>{{ notice }}</p></div>
{%- endif %}
<form method="post" action="{{ url }}">
<input type="hidden" name="token" value="{{ token }}">
{%- for group in groups %}
<section>
<h2>{{ group.title }}</h2>
<ul class="rows">
{%- for list in group.lists %}
<li>
<div><strong>{{ list.name }}</strong>
{%- if list.hint %} <span class="optional">{{ list.hint }}</span>{% endif %}
{%- if list.description != '' %}
<p>{{ list.description }}</p>
{%- endif %}</div>
{%- if group.button %}
<button class="secondary" name="{{ group.field }}" value="{{ list.id }}" aria-label="{{ group.button }}{{ colon }} {{ list.name }}">{{ group.button }}</button>
{%- endif %}
</li>
{%- endfor %}
</ul>
</section>
{%- endfor %}
{%- for action in actions %}
<section>
<h2>{{ action.title }}</h2>
<p>{{ action.text }}</p>
<button class="secondary" name="{{ action.name }}" value="{{ action.value }}">{{ action.button }}</button>
</section>
{%- endfor %}
</form>
{%- if tracking %}
<form method="post" action="{{ url }}">
<input type="hidden" name="token" value="{{ token }}">
<section>
<h2>{{ tracking.title }}</h2>
{%- for one in tracking.rows %}
<div class="tick">
<input type="checkbox" id="{{ one.action }}" name="{{ one.action }}" value="allow" aria-describedby="{{ one.action }}-now"{% if one.isAllowed %} checked{% endif %}>
<label for="{{ one.action }}">{{ one.label }}</label>
<p id="{{ one.action }}-now">{{ one.level }}</p>
</div>
{%- endfor %}
<button class="secondary" name="tracking" value="save">{{ tracking.button }}</button>
</section>
</form>
{%- endif %}`)

export interface PreferencesPage {
  language: PageLanguage
  preferences: Preferences
  token: string
  /** What the person has just changed. */
  notice?: string | undefined
}

/** Sends the page on which a person chooses what they receive. It works without JavaScript. */
export function sendPreferencesPage(reply: FastifyReply, page: PreferencesPage): FastifyReply {
  const { language, preferences, token, notice } = page
  const { title } = language.texts.preferences
  const content = String(
    engine.renderSync(template, {
      text: describeHolder(page),
      notice,
      token,
      // So that the proofs have the texts that the person saw.
      // The token is in the URL too: requests are counted before their body is read.
      url: `preferences?token=${token}&lang=${language.locale}`,
      colon: colons[language.language],
      groups: groupLists(page),
      tracking: describeTracking(page),
      actions: listActions(page),
    }),
  )
  return sendDocument(reply, { language, heading: title, content, branding: preferences.branding })
}

function describeHolder({ language, preferences: { sender, holder, hasOptedOut } }: PreferencesPage): string {
  const texts = language.texts.preferences
  if (holder === 'ERASED') return hasOptedOut ? texts.erasedAndStopped(sender) : texts.erased(sender)
  if (hasOptedOut) return texts.stopped(sender)
  if (holder === 'FORMER') return texts.former
  return holder.lists.length > 0 ? texts.text(sender, holder.maskedEmail) : texts.noLists(sender)
}

/** What takes one button, whatever the lists are. */
function listActions({ language, preferences: { sender, holder, hasOptedOut } }: PreferencesPage) {
  const { stop, data } = language.texts.preferences
  return [
    ...(hasOptedOut ? [] : [{ ...stop, name: 'stop', value: 'all', text: stop.text(sender) }]),
    ...(typeof holder === 'string'
      ? []
      : [{ ...data, name: 'data', value: 'email', text: data.text(sender, holder.maskedEmail) }]),
  ]
}

/** An allowed action is ticked. What the person never chose is not: a tick that is set beforehand is no consent. */
function describeTracking({ language, preferences: { holder } }: PreferencesPage) {
  if (typeof holder === 'string') return undefined
  const { title, button, levels, ...labels } = language.texts.preferences.tracking
  const rows = holder.tracking.map(({ action, choice, level }) => ({
    action,
    label: labels[action],
    level: levels[level],
    isAllowed: choice === 'GRANTED',
  }))
  return { title, button, rows }
}

/** The lists with the button that each group has. */
function groupLists({ language, preferences: { holder } }: PreferencesPage) {
  if (typeof holder === 'string') return []
  const { subscription, preferences: texts } = language.texts
  const withHint = (list: ListPreference) => ({ ...list, ...(list.status === 'PENDING' && { hint: texts.pending }) })
  const left = holder.lists.filter(({ status }) => status === 'LEFT')
  const received = holder.lists.filter(({ status }) => status !== 'LEFT')
  const groups = [
    { title: texts.received, field: 'leave', button: subscription.unsubscribe.button, lists: received.map(withHint) },
    {
      title: texts.left,
      field: 'return',
      button: holder.canReturn ? subscription.unsubscribed.button : undefined,
      lists: left,
    },
  ]
  return groups.filter(({ lists }) => lists.length > 0)
}
