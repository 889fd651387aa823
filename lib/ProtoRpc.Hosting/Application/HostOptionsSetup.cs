using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;
using ProtoRpc.Hosting.Http;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Hosting.Application;

/// <summary>Reads the section of the configuration into the options, and checks them when the application
/// starts.</summary>
internal sealed class HostOptionsSetup(IConfiguration? configuration = null, IHostEnvironment? host = null)
    : IConfigureOptions<RpcHostOptions>, IValidateOptions<RpcHostOptions>
{
    private const string Limits = "Limits";
    private const string Security = "Security";
    private const string Http = "Http";
    private const string Certificate = "Certificate";

    public void Configure(RpcHostOptions options)
    {
        if (configuration?.GetSection(RpcHostOptions.Section) is not { } section)
        {
            return;
        }

        RpcServerOptions server = options.Server with
        {
            Limits = options.Server.Limits with { },
            Security = options.Server.Security with { },
        };
        SectionReader.Read(section.GetSection(Limits), server.Limits);
        SectionReader.Read(section.GetSection(Security), server.Security);
        HttpServerOptions http = options.Http with { };
        SectionReader.Read(section.GetSection(Http), http);
        SectionReader.Read(
            section, server,
            Limits, Security, Http, Certificate, nameof(options.Endpoints), nameof(options.HealthPeriod));
        options.Server = server;
        options.Http = http;
        SectionReader.ReadTime(
            section.GetSection(nameof(options.HealthPeriod)), time => options.HealthPeriod = time);
        if (SectionReader.ListOf(section.GetSection(nameof(options.Endpoints))) is { Length: > 0 } endpoints)
        {
            options.Endpoints = [.. endpoints];
        }

        if (CertificateFile.Read(
            section.GetSection(Certificate),
            host?.ContentRootPath ?? Environment.CurrentDirectory) is { } certificate)
        {
            (server.Certificate, server.CertificateChain) = certificate;
        }
    }

    public ValidateOptionsResult Validate(string? name, RpcHostOptions options)
    {
        List<string> failures = [];
        for (int i = 0; i < options.Endpoints.Count; i++)
        {
            Try($"{RpcHostOptions.Section}:{nameof(options.Endpoints)}:{i}",
                () => RpcEndpoint.Parse(options.Endpoints[i]));
        }

        Try($"{RpcHostOptions.Section}:{Limits}", () => NativeLimits.Check(options.Server.Limits));
        Try($"{RpcHostOptions.Section}:{Http}:{nameof(options.Http.AllowedHosts)}",
            () => _ = new HostPolicy(options.Http, RpcEndpoint.Parse("http://127.0.0.1/")));
        if (options.HealthPeriod < TimeSpan.FromMilliseconds(1))
        {
            failures.Add(
                $"The setting '{RpcHostOptions.Section}:{nameof(options.HealthPeriod)}' cannot be used: "
                + $"{options.HealthPeriod} is less than a millisecond.");
        }

        return failures.Count > 0 ? ValidateOptionsResult.Fail(failures) : ValidateOptionsResult.Success;

        void Try(string path, Action check)
        {
            try
            {
                check();
            }
            catch (RpcException e)
            {
                failures.Add($"The setting '{path}' cannot be used: {e.Message}");
            }
        }
    }
}
