using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.Routing.Patterns;
using Microsoft.Extensions.FileProviders;
using Microsoft.Extensions.Primitives;

namespace ProtoRpc.Hosting.Application;

/// <summary>The routes of an application that lead to a server.</summary>
internal static class MappedRoutes
{
    // A name that route groups do not use for their own parameters.
    private const string Rest = "protorpc-method";

    public static IEndpointConventionBuilder Add(IEndpointRouteBuilder endpoints, MappedFaces faces)
    {
        if (endpoints.DataSources.OfType<MapMark>().Any())
        {
            throw new InvalidOperationException(
                "These routes already have a server. Map other servers "
                + "under a prefix or a host: app.MapGroup(\"/v2\").MapProtoRpc() or "
                + "app.MapGroup(\"\").RequireHost(\"v2.example.com\").MapProtoRpc().");
        }

        endpoints.DataSources.Add(new MapMark());
        faces.IsMapped = true;
        RouteGroupBuilder group = endpoints.MapGroup("").WithMetadata(faces);
        foreach (string name in faces.Names.Where(IsPath).Distinct(StringComparer.OrdinalIgnoreCase))
        {
            group.Map(PatternOf(name), http => faces.HandleAsync(
                http, $"/{name}/{http.Request.RouteValues[Rest]}".TrimEnd('/'), basePath: ""))
                .WithDisplayName($"ProtoRpc {name}");
        }

        // Behind what the application itself has there.
        group.Map("/", http => faces.HandleAsync(
            http, "/", http.Request.PathBase.Add(http.Request.Path).Value ?? ""))
            .WithDisplayName("ProtoRpc services")
            .Add(route => ((RouteEndpointBuilder)route).Order = 1);
        return group;
    }

    private static bool IsPath(string name) =>
        name.Split('/').All(part => part.Length > 0 && !part.Contains('?'));

    private static RoutePattern PatternOf(string name) => RoutePatternFactory.Pattern(
    [
        .. name.Split('/').Select(
            part => RoutePatternFactory.Segment(RoutePatternFactory.LiteralPart(part))),
        RoutePatternFactory.Segment(RoutePatternFactory.ParameterPart(
            Rest, @default: null, RoutePatternParameterKind.CatchAll)),
    ]);
}

/// <summary>Marks routes that have a server: a source of no endpoints.</summary>
internal sealed class MapMark : EndpointDataSource
{
    public override IReadOnlyList<Endpoint> Endpoints => [];

    public override IChangeToken GetChangeToken() => NullChangeToken.Singleton;
}
