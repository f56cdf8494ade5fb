package serve

import (
	"net"
	"net/http"
	"slices"
)

// policy lets a page load only from this server.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guard accepts only pages of this server on this machine. The check of the Host header refuses foreign names that
// resolve to here (DNS rebinding); Origin and Sec-Fetch-Site reveal forms and scripts of other sites.
func guard(addr net.Addr, next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(addr.String())
	var hosts []string
	for _, name := range []string{"127.0.0.1", "localhost", "::1"} {
		hosts = append(hosts, net.JoinHostPort(name, port))
	}
	hosts = append(hosts, addr.String())
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !slices.Contains(hosts, r.Host) {
			http.Error(w, "this server answers as "+hosts[0]+" only", http.StatusMisdirectedRequest)
			return
		}
		if err := origins.Check(r); err != nil {
			http.Error(w, "this comes from another site's page", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
