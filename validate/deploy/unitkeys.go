package deploy

import "strings"

// unitKeys are the keys that can touch neither data nor settings, start nor stop of a server, or that the reader
// below takes into account (systemd.unit(5), systemd.service(5), systemd.exec(5), systemd.resource-control(5),
// systemd.kill(5)). A key that is not here is not understood.
var unitKeys = map[string][]string{
	"Unit": strings.Fields(`Description Documentation After Before Wants Requires Requisite BindsTo Conflicts RequiresMountsFor
		WantsMountsFor StartLimitIntervalSec StartLimitInterval StartLimitBurst StartLimitAction DefaultDependencies RefuseManualStop
		StopWhenUnneeded PartOf IgnoreOnIsolate AssertPathExists SourcePath`),
	"Install": strings.Fields(`WantedBy RequiredBy UpheldBy Alias DefaultInstance`),
	"Service": strings.Fields(`StartLimitInterval StartLimitIntervalSec StartLimitBurst Type ExecStart ExecStartPre ExecStartPost ExecStop ExecStopPost ExecReload ExecCondition PIDFile GuessMainPID
		Restart RestartSec RestartSteps RestartMaxDelaySec RestartMode RestartPreventExitStatus RestartForceExitStatus SuccessExitStatus
		TimeoutSec TimeoutStartSec TimeoutStopSec TimeoutAbortSec TimeoutStartFailureMode TimeoutStopFailureMode RuntimeMaxSec
		RuntimeRandomizedExtraSec WatchdogSec NotifyAccess KillMode KillSignal RestartKillSignal FinalKillSignal SendSIGKILL SendSIGHUP
		WatchdogSignal User Group SupplementaryGroups DynamicUser UMask WorkingDirectory Environment EnvironmentFile UnsetEnvironment
		RuntimeDirectory RuntimeDirectoryMode RuntimeDirectoryPreserve StateDirectory StateDirectoryMode LogsDirectory LogsDirectoryMode
		ConfigurationDirectory ConfigurationDirectoryMode CacheDirectory CacheDirectoryMode
		PrivateTmp PrivateDevices PrivateNetwork PrivateUsers PrivateMounts PrivateIPC ProtectSystem ProtectHome ProtectKernelTunables
		ProtectKernelModules ProtectKernelLogs ProtectControlGroups ProtectClock ProtectHostname ProtectProc ProcSubset NoNewPrivileges
		ReadWritePaths ReadWriteDirectories ReadOnlyPaths ReadOnlyDirectories InaccessiblePaths InaccessibleDirectories NoExecPaths ExecPaths
		TemporaryFileSystem BindPaths CapabilityBoundingSet AmbientCapabilities SecureBits
		RestrictAddressFamilies RestrictNamespaces RestrictRealtime RestrictSUIDSGID RestrictFileSystems LockPersonality MemoryDenyWriteExecute
		RemoveIPC SystemCallArchitectures SystemCallFilter SystemCallErrorNumber AppArmorProfile SELinuxContext KeyringMode DevicePolicy DeviceAllow
		IPAddressAllow IPAddressDeny IPAccounting SocketBindAllow SocketBindDeny
		LimitNOFILE LimitNPROC LimitCORE LimitMEMLOCK LimitAS LimitSTACK LimitDATA LimitRSS LimitCPU LimitRTPRIO LimitNICE LimitSIGPENDING
		LimitMSGQUEUE LimitRTTIME Nice CPUSchedulingPolicy CPUSchedulingPriority CPUAffinity NUMAPolicy NUMAMask IOSchedulingClass
		IOSchedulingPriority CPUAccounting CPUWeight StartupCPUWeight CPUShares CPUQuota AllowedCPUs MemoryAccounting MemoryMin MemoryLow
		MemoryHigh MemoryMax MemoryLimit MemorySwapMax IOAccounting IOWeight TasksAccounting TasksMax OOMScoreAdjust OOMPolicy
		ManagedOOMSwap ManagedOOMMemoryPressure Slice Delegate TimerSlackNSec CoredumpFilter Personality
		StandardOutput StandardError StandardInput SyslogIdentifier SyslogFacility SyslogLevel SyslogLevelPrefix LogLevelMax LogExtraFields
		LogRateLimitIntervalSec LogRateLimitBurst LogNamespace TTYPath`),
}
