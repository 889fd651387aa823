using Microsoft.AspNetCore.Cors.Infrastructure;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;

namespace ProtoRpc.Hosting.Application;

/// <summary>What the CORS policies of an application say of a request.</summary>
internal static class ApplicationCors
{
    // The CORS middleware marks requests that it has seen by this.
    private const string Seen = "__CorsMiddlewareWithEndpointInvoked";

    /// <summary>Whether the application lets pages of the request's origin call: by the policy of the
    /// endpoint, or else by its default policy.</summary>
    public static async ValueTask<bool> AllowsAsync(HttpContext http)
    {
        string origin = http.Request.Headers.Origin.ToString();
        if (origin.Length == 0 || !http.Items.ContainsKey(Seen)
            || http.RequestServices.GetService<ICorsPolicyProvider>() is not { } policies)
        {
            return false;
        }

        CorsPolicy? policy = http.GetEndpoint()?.Metadata.GetMetadata<ICorsMetadata>() switch
        {
            IDisableCorsAttribute => null,
            ICorsPolicyMetadata own => own.Policy,
            IEnableCorsAttribute named =>
                await policies.GetPolicyAsync(http, named.PolicyName).ConfigureAwait(false),
            _ => await policies.GetPolicyAsync(http, policyName: null).ConfigureAwait(false),
        };
        return policy is not null && (policy.AllowAnyOrigin || policy.IsOriginAllowed(origin));
    }
}
