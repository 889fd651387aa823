using Microsoft.AspNetCore.HostFiltering;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace ProtoRpc.Hosting.Application;

/// <summary>The host names of an application: those of its setting <c>AllowedHosts</c>, which its host
/// filtering lets pass.</summary>
internal static class ApplicationHosts
{
    // As host filtering reads them. The templates of applications have "*", so it says nothing of who calls.
    private static readonly string[] All = ["*", "[::]", "0.0.0.0"];

    public static IEnumerable<string> Of(IServiceProvider services)
    {
        IList<string> names = services.GetService<IOptions<HostFilteringOptions>>()?.Value.AllowedHosts ?? [];
        return names.Any(name => All.Contains(name.Trim()))
            ? []
            : names.Where(IsName);
    }

    // A name with a port matches no request there, and is no error.
    private static bool IsName(string name)
    {
        string bare = name.Trim();
        bare = bare.StartsWith("*.", StringComparison.Ordinal) ? bare[2..] : bare;
        return Uri.CheckHostName(bare) != UriHostNameType.Unknown;
    }
}
