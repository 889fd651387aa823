using System.Security.Claims;
using System.Text.Encodings.Web;
using Microsoft.AspNetCore.Authentication;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>An application's own authentication: the token is the name.</summary>
public sealed class NamedUser(
    IOptionsMonitor<AuthenticationSchemeOptions> options, ILoggerFactory logger, UrlEncoder encoder)
    : AuthenticationHandler<AuthenticationSchemeOptions>(options, logger, encoder)
{
    public const string Name = "Test";

    protected override Task<AuthenticateResult> HandleAuthenticateAsync()
    {
        string header = Request.Headers.Authorization.ToString();
        return Task.FromResult(header.StartsWith("Bearer ", StringComparison.Ordinal)
            ? AuthenticateResult.Success(new AuthenticationTicket(
                new ClaimsPrincipal(new ClaimsIdentity([new(ClaimTypes.Name, header[7..])], Name)), Name))
            : AuthenticateResult.NoResult());
    }
}
