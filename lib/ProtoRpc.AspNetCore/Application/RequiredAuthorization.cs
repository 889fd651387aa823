using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace ProtoRpc.AspNetCore.Application;

/// <summary>Finds the servers whose mapped routes require authorization, which endpoints that the server
/// opens itself do not run.</summary>
internal static class RequiredAuthorization
{
    // Not with the LoggerMessage attribute: its generator writes the classes of an assembly in random order,
    // so builds would not be reproducible.
    private static readonly Action<ILogger, string, Exception?> LogViolation = LoggerMessage.Define<string>(
        LogLevel.Critical, new EventId(13, nameof(LogViolation)), "The application stops: {Reason}");

    /// <summary>Passes the authorization of routes to the servers. The routes of an application are complete
    /// once it has started.</summary>
    /// <exception cref="RpcException">FailedPrecondition: such a server already listens on an endpoint that
    /// serves anonymous callers.</exception>
    public static async Task ApplyAsync(IServiceProvider services)
    {
        bool isRequiredByDefault = services.GetService<IAuthorizationPolicyProvider>() is { } policies
            && await policies.GetFallbackPolicyAsync().ConfigureAwait(false) is not null;
        foreach (Endpoint route in services.GetService<EndpointDataSource>()?.Endpoints ?? [])
        {
            if (route.Metadata.GetMetadata<MappedProtocols>() is { } protocols
                && IsRequired(route.Metadata, isRequiredByDefault))
            {
                protocols.Server.AddCheck();
            }
        }
    }

    /// <summary>Stops an application without AddProtoRpc's lifetime, if one of its servers serves anonymous
    /// callers although routes require authorization.</summary>
    public static async Task StopIfViolatedAsync(
        IServiceProvider services, IHostApplicationLifetime application)
    {
        try
        {
            await ApplyAsync(services).ConfigureAwait(false);
        }
        catch (RpcException e)
        {
            LogViolation(services.GetRequiredService<ILogger<RpcServer>>(), e.Message, null);
            application.StopApplication();
        }
    }

    // The same rules as those of ASP.NET Core's authorization middleware.
    private static bool IsRequired(EndpointMetadataCollection metadata, bool isRequiredByDefault) =>
        metadata.GetMetadata<IAllowAnonymous>() is null
        && (isRequiredByDefault
            || metadata.GetMetadata<IAuthorizeData>() is not null
            || metadata.GetMetadata<AuthorizationPolicy>() is not null
            || metadata.GetMetadata<IAuthorizationRequirementData>() is not null);
}
