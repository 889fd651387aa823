using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.FileProviders;
using Microsoft.Extensions.Primitives;

namespace ProtoRpc.Hosting.Application;

/// <summary>Marks routes that have a server: a source of no endpoints.</summary>
internal sealed class MapMark : EndpointDataSource
{
    public override IReadOnlyList<Endpoint> Endpoints => [];

    public override IChangeToken GetChangeToken() => NullChangeToken.Singleton;
}
