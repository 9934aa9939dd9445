import type { Rapport, TemplateCreate } from '@rapport/sdk'

const welcome: TemplateCreate = {
  name: 'Welcome',
  subject: 'Welcome, {{ contact.firstName | default: "friend" }}',
  html: '<p>Good that you are here. Please <a href="{{ data.verifyUrl }}">verify your address</a>.</p>',
  variables: [{ name: 'verifyUrl', type: 'URL', example: 'https://shop.example/verify?token=x' }],
  // It is in the footer of the email, in the audit log, and in the export of the person.
  ground: 'REQUEST',
}

/** Returns the id of the template. Creates it unless this workspace has it. */
export async function findOrCreateTemplate(rapport: Rapport): Promise<string> {
  for await (const { id, name } of rapport.templates.list({ search: welcome.name }))
    if (name === welcome.name) return id
  return (await rapport.templates.create(welcome)).id
}
