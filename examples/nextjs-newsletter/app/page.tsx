import { SignUpForm } from './sign-up-form.tsx'
import { TreeRings } from './tree-rings.tsx'

const letters = [
  { title: 'The payroll that outlived its company', about: 'A COBOL batch, 41 years old, and the woman who reads it.' },
  { title: 'Delete the cache', about: 'What a small team learned in the year without one.' },
  { title: 'A database is a promise', about: 'Why the dullest part of a system ages best.' },
]

export default function Page() {
  return (
    <>
      <TreeRings />
      <header>
        <p className="name">Heartwood</p>
      </header>
      <main>
        <section className="pitch">
          <h1>Software that lasts.</h1>
          <p className="lede">
            One letter a month about programs that are still running after twenty years, and the people who look after
            them.
          </p>
        </section>
        <SignUpForm />
        <section className="letters" aria-labelledby="letters">
          <h2 id="letters">Recent letters</h2>
          <ol>
            {letters.map(({ title, about }) => (
              <li key={title}>
                <h3>{title}</h3>
                <p>{about}</p>
              </li>
            ))}
          </ol>
        </section>
      </main>
      <footer>
        <p>An example of Rapport: the form is a server action, the list and its emails are Rapport’s.</p>
      </footer>
    </>
  )
}
