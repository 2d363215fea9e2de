import { httpResource } from '@angular/common/http'
import { Component, inject } from '@angular/core'
import { RouterLink, RouterOutlet } from '@angular/router'
import { userText } from 'agent-auth/texts'
import { auth, baseUrl } from './auth'
import { Auth } from './auth.service'

@Component({
  selector: 'app-root',
  imports: [RouterLink, RouterOutlet],
  template: `
    @if (user.error()) {
      <p role="alert">{{ text(user.error()) }}</p>
    }
    @if (user.state().status === 'signed-in') {
      <p>{{ user.state().claims?.claims?.['name'] ?? user.state().claims?.subject }}</p>
      <button (click)="auth.signOut()">Sign out</button>
    } @else {
      <button (click)="auth.signIn()">Sign in</button>
    }
    <a routerLink="/models">Models</a>
    <router-outlet />
  `,
})
export class App {
  readonly user = inject(Auth)
  readonly auth = auth
  readonly text = (error: unknown): string => userText(error).text
}

@Component({ template: `{{ models.hasValue() ? models.value().data.count + ' models' : '' }}` })
export class Models {
  private readonly user = inject(Auth)
  // Asked again for each user, and empty without one.
  readonly models = httpResource<{ data: { count: number } }>(() =>
    this.user.state().sessionRef
      ? { url: `${baseUrl}/api/llm_models/search`, method: 'POST', body: { limit: 1, offset: 0 } }
      : undefined,
  )
}
