using System.Collections.Concurrent;

namespace ProtoRpc.Interop;

/// <summary>Finds the programs of others.</summary>
internal static class Peers
{
    private const string EtcdFolder = "usr/share/gocode/src/go.etcd.io/etcd/etcdserver/etcdserverpb";

    private const string NpmInstall =
        "cp tests/interop/node/package*.json artifacts && npm ci --ignore-scripts --prefix artifacts";

    /// <summary>Debian's Python: the modules of its packages are not seen by another one on PATH.</summary>
    public const string Python = "/usr/bin/python3";

    public const string Node = "node";

    public const string Tshark = "tshark";

    /// <summary>The script that starts the program buf of its package for this system.</summary>
    public static string Buf { get; } = Path.Combine(WebPage.Packages, "@bufbuild", "buf", "bin", "buf");

    private static readonly ConcurrentDictionary<Peer, string?> Reasons = new();

    /// <summary>The library that gives a process a clock of its own; null where there is none.</summary>
    public static string? FakeTimeLibrary { get; } = Directory.Exists("/usr/lib")
        ? Directory.EnumerateDirectories("/usr/lib", "*-linux-gnu*")
            .Select(folder => Path.Combine(folder, "faketime", "libfaketimeMT.so.1"))
            .FirstOrDefault(File.Exists)
        : null;

    /// <summary>Why tests with that peer cannot run; null when they can.</summary>
    public static string? WhyMissing(Peer peer) => Reasons.GetOrAdd(peer, static which => which switch
    {
        Peer.Impacket => Works(Python, "-c", "import impacket.dcerpc.v5.rpcrt")
            ? null
            : $"impacket is not installed for {Python}: apt-get install python3-impacket",
        Peer.PythonGrpc => Works(Python, "-c", "import grpc, google.protobuf") && Works("protoc", "--version")
            ? null
            : $"grpc is not installed for {Python}: "
                + "apt-get install python3-grpcio python3-protobuf protobuf-compiler",
        Peer.NodeGrpc => Works(Node, Path.Combine(AppContext.BaseDirectory, "node", "interop.js"))
            ? null
            : $"Node's gRPC is not installed: {NpmInstall}",
        Peer.NodeConnect => Works(Node, Path.Combine(AppContext.BaseDirectory, "node", "connect.mjs"))
            ? null
            : $"Node's Connect is not installed: {NpmInstall}",
        Peer.WebConnect => WhyMissing(Peer.Chromium)
            ?? WhyMissingPackage("@connectrpc/connect-web", "Connect for browsers"),
        Peer.WebGrpc => WhyMissing(Peer.Chromium) ?? WhyMissingPackage("grpc-web", "gRPC-Web for browsers"),
        Peer.Buf => Works(Node, Buf, "--version") ? null : $"buf is not installed: {NpmInstall}",
        Peer.Kdc => OperatingSystem.IsWindows()
            ? "Kerberos of Windows is that of its domain"
            : new[] { "krb5kdc", "kadmin.local", "kinit" }.Any(name => FindProgram(name) is null)
            ? "there is no KDC: apt-get install krb5-kdc krb5-admin-server krb5-user"
            : null,
        Peer.GssNtlm => Works(
            Python,
            "-c",
            "import gssapi; "
            + "assert any('311.2.2.10' in m.dotted_form for m in gssapi.raw.indicate_mechs())")
            ? null
            : $"gss-ntlmssp is not installed for {Python}: apt-get install gss-ntlmssp python3-gssapi",
        Peer.PythonProtobuf => Works(Python, "-c", "import google.protobuf.json_format")
            ? null
            : $"protobuf is not installed for {Python}: apt-get install python3-protobuf",
        Peer.Chromium => FindProgram("chromium") is null
            ? "there is no browser: apt-get install chromium"
            : null,
        Peer.ImpacketKerberos => WhyMissing(Peer.Kdc) ?? WhyMissing(Peer.Impacket),
        Peer.ImpacketGrpc => WhyMissing(Peer.Impacket) ?? WhyMissing(Peer.PythonGrpc),
        Peer.WineKerberos => WhyMissing(Peer.Kdc)
            ?? (FindProgram("wine") is null ? "wine is not installed: apt-get install wine wine64"
                : File.Exists(SspiPeer.Program) ? null
                : "tests/sspi was not built; it is where wine is installed in /usr/bin"),
        Peer.Curl => FindProgram("curl") is null ? "curl is not installed: apt-get install curl" : null,
        Peer.Hunspell => Works("hunspell", "-d", "en_US", "-l", "/dev/null")
            ? null
            : "hunspell is not installed: apt-get install hunspell hunspell-en-us",
        Peer.Nginx => FindProgram("nginx") is null
            ? "nginx is not installed: apt-get install nginx-light"
            : null,
        Peer.Etcd => HostedProgram.IsNeeded
            ? "the sockets of etcd are in a folder, which .NET cannot connect to under Wine"
            : FindProgram("etcd") is null || EtcdProtos is null
            ? "etcd is not installed: apt-get install etcd-server golang-etcd-server-dev"
            : null,
        Peer.Containerd => ContainerdFolder is null
            ? "containerd is not unpacked: .ci/run does it, as root, which containerd needs"
            : null,
        Peer.FakeTime => FakeTimeLibrary is null
            ? "libfaketime is not installed: apt-get install libfaketime"
            : null,
        Peer.PowerShell => FindProgram("pwsh") is null ? "PowerShell 7.6 is not on the PATH" : null,
        _ => Works(Tshark, "--version") ? null : "tshark is not installed: apt-get install tshark",
    });

    /// <summary>The folder of etcd's .proto files, of a package that is installed, or unpacked by
    /// <c>.ci/run</c>; null for none.</summary>
    public static string? EtcdProtos =>
        new[] { "/", Path.Combine(Tests.Repository.Root, "artifacts", "etcd") }
            .Select(root => Path.Combine(root, EtcdFolder)).FirstOrDefault(Directory.Exists);

    /// <summary>What <c>.ci/run</c> unpacked of the packages of containerd; null if there is none, or if it
    /// cannot run here.</summary>
    public static string? ContainerdFolder =>
        Path.Combine(Tests.Repository.Root, "artifacts", "containerd") is { } folder
            && Directory.Exists(folder) && Environment.IsPrivilegedProcess && !HostedProgram.IsNeeded
            ? folder
            : null;

    /// <summary>Finds a program, also those for administrators that are not on every PATH.</summary>
    public static string? FindProgram(string name) => HostedProgram.IsNeeded
        ? Works("sh", "-c", "command -v \"$0\"", name) ? name : null
        : $"{Environment.GetEnvironmentVariable("PATH")}:/usr/sbin:/sbin".Split(':')
            .Select(folder => Path.Combine(folder, name)).FirstOrDefault(File.Exists);

    private static string? WhyMissingPackage(string package, string name) =>
        Directory.Exists(Path.Combine(WebPage.Packages, package))
            ? null
            : $"{name} is not installed: {NpmInstall}";

    private static bool Works(string program, params string[] arguments)
    {
        try
        {
            using PeerProcess process = PeerProcess.Start(program, arguments);
            return process.WaitForExit() == 0;
        }
        catch (System.ComponentModel.Win32Exception)
        {
            return false;
        }
    }
}
