import type { FastifyReply } from 'fastify'
import { engine, sendDocument } from './document.ts'

const template = engine.parse(`<p>{{ text }}</p>
{%- if button %}
<form method="post"><button>{{ button }}</button></form>
{%- endif %}`)

interface Message {
  title: string
  text: string
  button?: string
  frameAncestors?: '*'
}

/** A page with one thing to say and at most one button, which posts to the page's own address. Values are escaped. */
export function sendMessage(reply: FastifyReply, { title, frameAncestors, ...message }: Message): FastifyReply {
  const content = String(engine.renderSync(template, message))
  return sendDocument(reply, { heading: title, content, ...(frameAncestors && { frameAncestors }) })
}
