using System.Net;
using System.Runtime.Versioning;
using ProtoRpc;
using ProtoRpc.Security.Sspi;
using ProtoRpc.SspiPeer;

[assembly: SupportedOSPlatform("windows")]

// One side of an authentication by SSPI, told by lines what to do:
//   ProtoRpc.SspiPeer initiate PACKAGE TARGET [USER PASSWORD]
//   ProtoRpc.SspiPeer accept PACKAGE [SERVICE]
//   ProtoRpc.SspiPeer listen AUTHENTICATION
//   ProtoRpc.SspiPeer call PORT MECHANISM LEVEL [USER PASSWORD]
NetworkCredential? User(int index) => args.Length > index ? new(args[index], args[index + 1]) : null;

switch (args[0])
{
    case "call":
        Echo.Call(
            int.Parse(args[1]), Enum.Parse<RpcMechanism>(args[2]), Enum.Parse<RpcProtectionLevel>(args[3]),
            User(4));
        break;
    case "listen":
        await EchoServer.ListenAsync(Enum.Parse<RpcAuthentication>(args[1]));
        break;
    case "accept":
        string? service = args.ElementAtOrDefault(2);
        ContextLoop.Run(() => SspiContext.ForServer(SspiCredential.OfServer(args[1]), service));
        break;
    default:
        ContextLoop.Run(() => SspiContext.ForClient(SspiCredential.OfClient(args[1], User(3)), args[2]));
        break;
}
