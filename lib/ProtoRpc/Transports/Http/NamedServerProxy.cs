using System.Net;

namespace ProtoRpc.Transports.Http;

/// <summary>The proxy of a server that is called by a resolved address. Rules such as NO_PROXY are for host
/// names, so they also decide about the configured one.</summary>
/// <param name="rules">The proxy and its exceptions.</param>
/// <param name="configured">The configured host.</param>
internal sealed class NamedServerProxy(IWebProxy rules, string configured) : IWebProxy
{
    public ICredentials? Credentials
    {
        get => rules.Credentials;
        set => throw new NotSupportedException();
    }

    public Uri? GetProxy(Uri destination)
    {
        if (IsBypassed(destination))
        {
            return null;
        }

        Uri named = Named(destination);
        return rules.GetProxy(named) is { } proxy && proxy != named ? proxy : null;
    }

    public bool IsBypassed(Uri host) => rules.IsBypassed(host) || rules.IsBypassed(Named(host));

    private Uri Named(Uri address) => new UriBuilder(address) { Host = configured }.Uri;
}
