const style = `body { max-width: 28rem; margin: 10vh auto; padding: 0 1.5rem; font: 1.0625rem/1.6 system-ui, sans-serif }
label, input, button { display: block; font: inherit }
input, button { width: 100%; margin: 0.25rem 0 1rem; padding: 0.6rem; box-sizing: border-box }`

/** Without input of the user, so that nothing has to be escaped. */
const page = (title: string, content: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <style>${style}</style>
  </head>
  <body>
    <h1>${title}</h1>
    ${content}
  </body>
</html>
`

export const signUpPage = page(
  'Create an account',
  `<form method="post" action="/sign-up">
      <label for="first-name">First name</label>
      <input id="first-name" name="firstName" autocomplete="given-name">
      <label for="email">Email</label>
      <input id="email" name="email" type="email" autocomplete="email" required>
      <button>Sign up</button>
    </form>`,
)
export const sentPage = page('Look into your inbox', '<p>We sent you an email with a link.</p>')
export const refusedPage = page('Another address, please', '<p>We cannot send emails to this address.</p>')
export const problemPage = page('Something went wrong', '<p>Please try again.</p>')
export const verifiedPage = page('Welcome', '<p>Your address is verified.</p>')
export const unknownPage = page('Not found', '<p>This page does not exist.</p>')
