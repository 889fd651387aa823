using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace ProtoRpc.Interop;

/// <summary>A realm on loopback: a KDC with a port and a folder of its own, a user, a service that is also
/// found as that of a web server, and the service's keytab.</summary>
public sealed partial class KerberosRealm : IDisposable
{
    public const string Realm = "TEST.EXAMPLE";
    public const string User = "alice";
    public const string Password = "Pa55word";
    public const string Service = "host/127.0.0.1";
    public const string WebService = "HTTP/127.0.0.1";

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("realm");
    private readonly PeerProcess? _kdc;

    public KerberosRealm()
    {
        if (Peers.WhyMissing(Peer.Kdc) is not null)
        {
            return;
        }

        Port = FindPort();
        Write("krb5.conf", $$"""
            [libdefaults]
              default_realm = {{Realm}}
              dns_lookup_kdc = false
              dns_lookup_realm = false
              dns_canonicalize_hostname = false
              rdns = false
              clockskew = 3
            [realms]
              {{Realm}} = {
                kdc = 127.0.0.1:{{Port}}
              }
            """);
        Write("kdc.conf", $$"""
            [kdcdefaults]
              kdc_ports = {{Port}}
              kdc_tcp_ports = {{Port}}
              kdc_listen = 127.0.0.1:{{Port}}
              kdc_tcp_listen = 127.0.0.1:{{Port}}
            [realms]
              {{Realm}} = {
                database_name = {{At("principal")}}
                key_stash_file = {{At("stash")}}
                acl_file = {{At("acl")}}
                supported_enctypes = aes256-cts-hmac-sha1-96:normal
              }
            """);

        // The libraries of this process read the environment of C, which that of .NET does not change.
        SetVariable("KRB5_CONFIG", At("krb5.conf"));
        SetVariable("KRB5_KDC_PROFILE", At("kdc.conf"));
        SetVariable("KRB5_KTNAME", Keytab);
        SetVariable("KRB5CCNAME", At("no-tickets"));
        SetVariable("KRB5RCACHEDIR", _folder.FullName);
        Run("kdb5_util", "create", "-s", "-r", Realm, "-P", "master");
        Run("kadmin.local", "-r", Realm, "-q", $"addprinc -pw {Password} +requires_preauth {User}");
        foreach (string service in new[] { Service, WebService })
        {
            Run("kadmin.local", "-r", Realm, "-q", $"addprinc -randkey {service}");
            Run("kadmin.local", "-r", Realm, "-q", $"ktadd -k {Keytab} {service}");
        }

        _kdc = Start("krb5kdc", "-n");
        WaitForKdc();
    }

    /// <summary>The KDC's port.</summary>
    public int Port { get; }

    /// <summary>The file with the service's key.</summary>
    public string Keytab => At("keytab");

    /// <summary>Makes a ticket of another user for the service the one of this process.</summary>
    public void LogInAs(string name)
    {
        Run("kadmin.local", "-r", Realm, "-q", $"addprinc -randkey {name}");
        UseTickets("own-tickets");
        Run("kinit", "-k", "-t", Keytab, Service);
        Run("kvno", "--out-cache", At("other-tickets"), "-I", name, Service);
        UseTickets("other-tickets");
    }

    /// <summary>Gets a ticket for the user, and makes it the one of this process.</summary>
    public void LogIn(string lifetime)
    {
        UseTickets("tickets");
        using PeerProcess kinit = Start("kinit", "-l", lifetime, $"{User}@{Realm}");
        kinit.WriteLine(Password);
        Assert.Equal(0, kinit.WaitForExit());
    }

    /// <summary>Gets a ticket for the user and one for the service,
    /// for programs that do not ask a KDC.</summary>
    public void LogInToService(string lifetime)
    {
        LogIn(lifetime);
        Run("kvno", Service);
    }

    /// <summary>Makes a file of tickets the one of this process.</summary>
    public void UseTickets(string name) => SetVariable("KRB5CCNAME", At(name));

    /// <summary>Makes another file the keytab of this process.</summary>
    public void UseKeytab(string path) => SetVariable("KRB5_KTNAME", path);

    public void Dispose()
    {
        _kdc?.Dispose();
        _folder.Delete(recursive: true);
    }

    private static int FindPort()
    {
        using Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        return ((IPEndPoint)socket.LocalEndPoint!).Port;
    }

    private static void SetVariable(string name, string value)
    {
        Assert.Equal(0, SetEnvironment(name, value, 1));
        Environment.SetEnvironmentVariable(name, value);
    }

    [LibraryImport("libc", EntryPoint = "setenv", StringMarshalling = StringMarshalling.Utf8)]
    private static partial int SetEnvironment(string name, string value, int overwrite);

    private static PeerProcess Start(string program, params string[] arguments) =>
        PeerProcess.Start(Peers.FindProgram(program)!, arguments);

    private static void Run(string program, params string[] arguments)
    {
        using PeerProcess process = Start(program, arguments);
        Assert.Equal(0, process.WaitForExit());
    }

    private string At(string name) => Path.Combine(_folder.FullName, name);

    private void Write(string name, string text) => File.WriteAllText(At(name), text + "\n");

    private void WaitForKdc()
    {
        DateTime end = DateTime.UtcNow + Patience;
        while (true)
        {
            try
            {
                using TcpClient probe = new();
                probe.Connect(IPAddress.Loopback, Port);
                return;
            }
            catch (SocketException) when (DateTime.UtcNow < end)
            {
                Thread.Yield();
            }
        }
    }
}
