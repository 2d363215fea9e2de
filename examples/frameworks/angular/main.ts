import { provideHttpClient, withInterceptors } from '@angular/common/http'
import { inject, provideAppInitializer } from '@angular/core'
import { bootstrapApplication } from '@angular/platform-browser'
import { provideRouter } from '@angular/router'
import { App, Models } from './app'
import { Auth, bearer, requireUser } from './auth.service'

await bootstrapApplication(App, {
  providers: [
    provideHttpClient(withInterceptors([bearer])),
    provideRouter([
      { path: 'models', component: Models, canActivate: [requireUser] },
      { path: '**', children: [] },
    ]),
    provideAppInitializer(() => inject(Auth).start()),
  ],
})
